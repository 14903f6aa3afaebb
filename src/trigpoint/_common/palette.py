"""Colors of plots and reports, all defined here.

References
----------
M. Okabe and K. Ito, "Color universal design", 2008.
"""

# Distinguishable with any type of color vision.
BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, YELLOW, BLACK = "#E69F00", "#56B4E9", "#F0E442", "#000000"

# Ordered so that similar colors are far apart.
OKABE_ITO = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, YELLOW, BLACK)

# For classes: the eight colors above, followed by others chosen as far as possible from earlier
# ones, from white and from the gray of missing values, for normal vision and three kinds of
# dichromacy.
CLASS_COLORS = (
    *OKABE_ITO,
    *("#A2002E", "#8B00FF", "#A274FF", "#8B4674", "#A2D1FF", "#2E46B9", "#FFB98B", "#B94646"),
    *("#74748B", "#B946D1", "#E8742E", "#D1D100", "#FF74D1", "#B9A28B", "#E800A2", "#5D468B"),
    *("#5DE8D1", "#467446", "#B90000", "#B974D1", "#8BB95D", "#D12E00", "#8BA25D", "#FF00FF"),
)

# For missing values and background points.
GRAY = "#BBBBBB"

# For reports, whose theme may be dark, so there is no black, and yellow is visible on white. There
# are `MOST_CLASSES` colors, and any two are distinguishable with any type of color vision.
PAGE_LABELS = (
    *(BLUE, ORANGE, GREEN, VERMILLION, SKY, "#E377C2", "#E6DA2A"),
    *("#8C5BF1", "#6B5410", "#C1147B", "#5EEFB4", "#3327D9", "#E490A0", "#7D2A4E"),
)
PAGE_ACCENT = {"light": "#0B6B66", "dark": "#6FD3C6"}
