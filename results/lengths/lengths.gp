# drawn with: gnuplot lengths.gp
$x0 << EOD
128 5.3535
256 5.3416
512 5.4740
1024 6.0256
2048 6.5824
4096 7.3687
EOD
$x1 << EOD
128 5.3535
256 6.0525
512 6.8752
1024 7.1655
2048 7.2703
4096 7.2939
EOD
$x2 << EOD
128 5.3535
256 5.3408
512 5.4542
1024 5.5872
2048 5.7525
4096 6.3368
EOD
$x3 << EOD
128 5.3535
256 5.3386
512 5.5093
1024 5.5525
2048 5.7082
4096 6.2276
EOD
$x4 << EOD
128 5.3535
256 5.3560
512 5.4322
1024 5.5650
2048 5.7584
4096 6.0797
EOD
$x5 << EOD
128 5.3535
256 5.3546
512 5.4278
1024 5.5655
2048 5.8818
4096 6.0070
EOD
$x6 << EOD
128 5.3535
256 5.3325
512 5.4179
1024 5.5025
2048 5.7212
4096 6.0917
EOD
$x7 << EOD
128 5.3535
256 5.3419
512 5.4484
1024 5.8080
2048 6.1079
4096 6.3613
EOD
$x8 << EOD
128 5.4224
256 5.4085
512 5.4818
1024 5.5576
2048 5.7210
4096 6.3062
EOD
$x9 << EOD
128 5.3535
256 5.3389
512 5.4555
1024 6.0503
2048 6.7190
4096 7.5920
EOD
$x10 << EOD
128 5.3535
256 5.3390
512 5.4452
1024 5.5676
2048 5.7398
4096 6.3704
EOD
$x11 << EOD
128 5.3553
256 5.3340
EOD
$x12 << EOD
EOD
$x13 << EOD
EOD
$x14 << EOD
EOD
$x15 << EOD
EOD
$x16 << EOD
EOD
$x17 << EOD
EOD
$x18 << EOD
EOD
$x19 << EOD
EOD
$x20 << EOD
EOD
$x21 << EOD
EOD
$x22 << EOD
EOD
$x23 << EOD
EOD
$x24 << EOD
EOD
$x25 << EOD
EOD
$x26 << EOD
EOD
$x27 << EOD
EOD
$x28 << EOD
EOD
$x29 << EOD
EOD
$x30 << EOD
EOD
set terminal svg background rgb 'white' size 1500,420 noenhanced font ',11'
set output 'lengths.svg'
set multiplot layout 1,3
set grid
set logscale x 2
set key outside below maxcols 3
set xlabel 'length in tokens'
set ylabel 'loss'
set title 'as trained at 128, without adaptation'
plot $x0 using 1:2 with linespoints dashtype 1 title 'as trained', $x1 using 1:2 with linespoints dashtype 2 title 'linear', $x2 using 1:2 with linespoints dashtype 1 title 'ntk', $x3 using 1:2 with linespoints dashtype 2 title 'dynamic', $x4 using 1:2 with linespoints dashtype 1 title 'yarn', $x5 using 1:2 with linespoints dashtype 2 title 'yarn, 4 turns', $x6 using 1:2 with linespoints dashtype 1 title 'longrope', $x7 using 1:2 with linespoints dashtype 2 title 'llama3', $x8 using 1:2 with linespoints dashtype 1 title 'base 500000', $x9 using 1:2 with linespoints dashtype 2 title 'log n', $x10 using 1:2 with linespoints dashtype 1 title 'ntk, log n', $x11 using 1:2 with linespoints dashtype 2 title 'rerope 64'
set multiplot next
set multiplot next
