
small"P
all