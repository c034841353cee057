import a.
from a. import .b
a.b()
	.c(