"""What landmarks leave unexplained of a kernel.

Landmarks J explain ``K_XJ inverse(K_JJ) K_JX`` of a kernel matrix K. What is left is the residual,
a kernel itself; its diagonal holds the squared distances, in the feature space of the kernel, of
the points from the span of the landmarks, and its trace is the error of the Nystrom approximation.

There are two ways to compute with it. Where landmarks are only ever added, `factor` grows a
Cholesky factor. Where they are exchanged or moved, `exchange` maintains the inverse of K_JJ.
"""
