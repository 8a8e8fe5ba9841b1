#!/bin/sh
# model_matrix.sh — the table of families and heads in docs/models/README.md is that of the tests.
exec sh "$(dirname "$0")/../model_matrix.sh" --check
