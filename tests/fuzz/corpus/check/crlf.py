def f():
	return eval("1")
