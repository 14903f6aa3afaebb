"""Residual of a kernel, unexplained by landmarks.

Landmarks J explain ``K_XJ inverse(K_JJ) K_JX`` of a kernel matrix K. The residual is the rest, also
a kernel; its diagonal holds the squared distances, in the feature space of the kernel, of the
points from the span of the landmarks, and its trace is the error of the Nystrom approximation.

There are two ways to compute with it. If landmarks are only added, `factor` grows a Cholesky
factor. If they are exchanged or moved, `exchange` maintains the inverse of K_JJ.
"""
