"""Colors of pictures and pages: the one place that knows their values.

References
----------
M. Okabe and K. Ito, "Color universal design", 2008.
"""

# Told apart by people with any color vision.
BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, YELLOW, BLACK = "#E69F00", "#56B4E9", "#F0E442", "#000000"

# In an order that keeps apart what is most alike.
OKABE_ITO = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, YELLOW, BLACK)

# Values that are missing, and points in the background.
GREY = "#BBBBBB"

# Of a report, whose theme may be dark: without black, and with a yellow that is seen on white.
PAGE_LABELS = (BLUE, ORANGE, GREEN, VERMILLION, SKY, PURPLE, "#E3D51F")
PAGE_ACCENT = {"light": "#0B6B66", "dark": "#6FD3C6"}
