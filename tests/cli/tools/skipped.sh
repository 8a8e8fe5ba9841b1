#!/bin/sh
# skipped.sh ROFORMER — tools/skipped.sh: skipped tests in a log of the suite, and the list of permitted ones.
. "$(dirname "$0")/../lib"
tool=$repository/tools/skipped.sh
mkdir -p b/release/Testing/Temporary
cat > b/release/Testing/Temporary/LastTest.log << 'EOL'
1/4 Testing: train/whole
step 3: the gradient is not finite: the update is skipped (1 in a row)
[       OK ] goes_on
2/4 Testing: data/real
[  SKIPPED ] no data: set ROFORMER_DATA to the folder of data sets
[  SKIPPED ] no data: set ROFORMER_DATA to the folder of data sets
[  SKIPPED ] 2 test(s), listed below:
3/4 Testing: mpi/pretrain-mpich
SKIPPED: no MPI (tools/setup.sh mpi)
4/4 Testing: train/test_faults
           skipped: processes cannot be traced here
EOL
cat > expected << 'EOL'
skipped: data/real: no data: set ROFORMER_DATA to the folder of data sets
skipped: mpi/pretrain-mpich: no MPI (tools/setup.sh mpi)
skipped: train/test_faults: processes cannot be traced here
skipped: 3 in all
EOL
expect 0 '' sh "$tool" b/release
same out expected "what was skipped"
printf '# here\nrelease data/real # no data\nrelease train/test_faults\nasan mpi/pretrain-mpich\n' > may
expect 1 '' sh "$tool" b/release may
[ "$(grep -c 'not in may' out)" -eq 1 ] && grep -q 'mpi/pretrain-mpich.*not in may' out || fail "$(cat out)"
echo 'release mpi/pretrain-mpich' >> may
expect 0 '' sh "$tool" b/release may
expect 2 'run the suite first' sh "$tool" b/debug
expect 2 'no elsewhere' sh "$tool" b/release elsewhere
done_testing
