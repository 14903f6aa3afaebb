"""Colors of plots and reports: the only place that defines their values.

References
----------
M. Okabe and K. Ito, "Color universal design", 2008.
"""

# Distinct with any color vision.
BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, YELLOW, BLACK = "#E69F00", "#56B4E9", "#F0E442", "#000000"

# Ordered so that similar colors are far apart.
OKABE_ITO = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, YELLOW, BLACK)

# For missing values and background points.
GRAY = "#BBBBBB"

# For reports, whose theme may be dark: no black, and a yellow that is visible on white.
PAGE_LABELS = (BLUE, ORANGE, GREEN, VERMILLION, SKY, PURPLE, "#E3D51F")
PAGE_ACCENT = {"light": "#0B6B66", "dark": "#6FD3C6"}
