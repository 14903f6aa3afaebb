"""The experiments of the paper, one file each, compared with the paper's own numbers.

C. Wachinger and P. Golland, "Diverse landmark sampling from determinantal point processes for
scalable manifold learning", AISTATS 2015.
"""

# In the order of the paper, with what each is about.
NAMES = {
    "sampling": "figure 1: standard, geodesic and efficient sampling of the roll",
    "repulsion": "figure 2: sin^2 against the Welsch function",
    "kmeanspp": "figure 3: where k-means++ is indifferent and Algorithm 2 is not",
    "table1": "table 1: errors of five samplers on the roll and the bowl",
    "neighbors": "the figure of ten million points: Euclidean against Bhattacharyya graphs",
    "mnist": "classification of digits from 100 coordinates",
    "headneck": "classification of CT patches from 50 coordinates",
    "patients": "the same patches over the number of patients to learn from",
    "readings": "how what the paper leaves open changes the ranking",
    "runtime": "Algorithm 2 against k-means at an equal number of landmarks",
    "beyond": "what there is now, on the paper's data",
}
