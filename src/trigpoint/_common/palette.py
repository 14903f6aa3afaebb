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

# Colors of classes in plots and reports. They begin with the colors above, except black, which
# would be invisible on a dark page. Each of the others is as far as possible from the earlier ones,
# from light and dark backgrounds, and from the gray of missing values, both for normal vision and,
# especially among the first twenty, for two kinds of dichromacy.
CLASS_COLORS = (
    *OKABE_ITO[:7],
    *("#9933FF", "#FF0055", "#55EE77", "#9988FF", "#CC00AA", "#55EEEE", "#774400", "#AACC88"),
    *("#FF99FF", "#99CC44", "#AA3333", "#00EEBB", "#553388", "#00EE00", "#FF11FF", "#FFCC99"),
    *("#888811", "#229933", "#FFAAAA", "#557744", "#FF3300", "#BBAADD", "#FF8866", "#6655EE"),
    *("#339999", "#CC2277", "#4499FF", "#7711AA", "#DDCC66", "#44BB00", "#773344", "#CC9944"),
    "#CC44EE",
)

# For missing values and background points.
GRAY = "#BBBBBB"

# For reports, by theme.
PAGE_ACCENT = {"light": "#0B6B66", "dark": "#6FD3C6"}
