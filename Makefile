# Forwards to CMake; `make help` lists the targets.
.DEFAULT_GOAL := all
B := build/release
