"""Residual of a kernel, the part that is not explained by landmarks.

Landmarks J explain ``K_XJ inverse(K_JJ) K_JX`` of a kernel matrix K. The rest is the residual,
which is also a kernel. Its diagonal holds the squared distances, in the feature space of the
kernel, of the points from the span of the landmarks, and its trace is the error of the Nystrom
approximation.

If landmarks are only added, `factor` grows a Cholesky factor. If they are exchanged or moved,
`exchange` maintains the inverse of K_JJ.
"""
