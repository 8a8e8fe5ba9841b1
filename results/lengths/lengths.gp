# drawn with: gnuplot lengths.gp
$x0 << EOD
128 5.3536
256 5.3403
512 5.4704
1024 6.0151
2048 6.6771
4096 7.4932
EOD
$x1 << EOD
128 5.3536
256 6.1863
512 7.0191
1024 7.2337
2048 7.3085
4096 7.2886
EOD
$x2 << EOD
128 5.3536
256 5.3374
512 5.4509
1024 5.5758
2048 5.7387
4096 6.3148
EOD
$x3 << EOD
128 5.3536
256 5.3366
512 5.5036
1024 5.5343
2048 5.6930
4096 6.2327
EOD
$x4 << EOD
128 5.3536
256 5.3516
512 5.4314
1024 5.5270
2048 5.6579
4096 5.9154
EOD
$x5 << EOD
128 5.3536
256 5.3520
512 5.4230
1024 5.5202
2048 5.7586
4096 5.8429
EOD
$x6 << EOD
128 5.3536
256 5.3309
512 5.4138
1024 5.4750
2048 5.6460
4096 5.9139
EOD
$x7 << EOD
128 5.3536
256 5.3401
512 5.4468
1024 5.7885
2048 6.0913
4096 6.3555
EOD
$x8 << EOD
128 5.4139
256 5.3984
512 5.4793
1024 5.5426
2048 5.7059
4096 6.2913
EOD
$x9 << EOD
128 5.3536
256 5.3376
512 5.4462
1024 6.0114
2048 6.7932
4096 7.7388
EOD
$x10 << EOD
128 5.3536
256 5.3348
512 5.4363
1024 5.5377
2048 5.6748
4096 6.1903
EOD
$x11 << EOD
128 5.3545
256 5.3319
512 5.4014
1024 5.4238
2048 5.4614
4096 5.5791
EOD
$x12 << EOD
128 5.3538
256 5.3277
512 5.3921
1024 5.4030
2048 5.4433
4096 5.8190
EOD
$x13 << EOD
128 5.3919
256 5.3587
512 5.4107
1024 5.4245
2048 5.6035
4096 6.6129
EOD
$x14 << EOD
128 5.3476
256 5.3345
512 5.4616
1024 6.0077
2048 6.6793
4096 7.5077
EOD
$x15 << EOD
128 6.4765
256 6.4675
512 6.4973
1024 6.5096
2048 6.5198
4096 6.5384
EOD
$x16 << EOD
128 5.3776
256 5.3451
512 5.4016
1024 5.4032
2048 5.4348
4096 5.8626
EOD
$x17 << EOD
128 5.3899
256 5.3453
512 5.4064
1024 5.3954
2048 5.4195
4096 5.6193
EOD
$x18 << EOD
128 5.3788
256 5.3437
512 5.4025
1024 5.3970
2048 5.4060
4096 5.7619
EOD
$x19 << EOD
128 5.3759
256 5.3467
512 5.4027
1024 5.3980
2048 5.4256
4096 5.7270
EOD
$x20 << EOD
128 5.3817
256 5.3480
512 5.4042
1024 5.3973
2048 5.4815
4096 5.9229
EOD
$x21 << EOD
128 5.3987
256 5.3836
512 5.4470
1024 5.4434
2048 5.4661
4096 5.8984
EOD
$x22 << EOD
128 5.3810
256 5.3449
512 5.4009
1024 5.3982
2048 5.4274
4096 5.6195
EOD
$x23 << EOD
128 5.3808
256 5.3521
512 5.4076
1024 5.4187
2048 5.5829
4096 6.7170
EOD
$x24 << EOD
128 5.3703
256 5.3392
512 5.3973
1024 5.4009
2048 5.4287
4096 5.8675
EOD
$x25 << EOD
128 5.3536
256 5.3403
512 5.4704
1024 6.0151
2048 6.6771
4096 7.4932
EOD
$x26 << EOD
128 5.4116
256 5.3853
512 5.4418
1024 5.4402
2048 5.4413
4096 5.4559
EOD
$x27 << EOD
128 5.5724
256 5.5621
512 5.6289
1024 5.6982
2048 5.7863
4096 6.0867
EOD
$x28 << EOD
128 6.1248
256 6.1164
512 6.1495
1024 6.1573
2048 6.1707
4096 6.1455
EOD
$x29 << EOD
128 6.3072
256 6.3116
512 6.3241
1024 6.3478
2048 6.3567
4096 6.3739
EOD
$x30 << EOD
128 6.5097
256 6.5113
512 6.5425
1024 6.5491
2048 6.5582
4096 6.5696
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
plot $x0 using 1:2 with linespoints dashtype 1 title 'as trained', $x1 using 1:2 with linespoints dashtype 2 title 'linear', $x2 using 1:2 with linespoints dashtype 1 title 'ntk', $x3 using 1:2 with linespoints dashtype 2 title 'dynamic', $x4 using 1:2 with linespoints dashtype 1 title 'yarn', $x5 using 1:2 with linespoints dashtype 2 title 'yarn, 4 turns', $x6 using 1:2 with linespoints dashtype 1 title 'longrope', $x7 using 1:2 with linespoints dashtype 2 title 'llama3', $x8 using 1:2 with linespoints dashtype 1 title 'base 500000', $x9 using 1:2 with linespoints dashtype 2 title 'log n', $x10 using 1:2 with linespoints dashtype 1 title 'ntk, log n', $x11 using 1:2 with linespoints dashtype 2 title 'rerope 64', $x12 using 1:2 with linespoints dashtype 1 title 'leaky rerope 64, 16'
set title 'after a short adaptation'
plot $x13 using 1:2 with linespoints dashtype 2 title 'as trained', $x14 using 1:2 with linespoints dashtype 1 title 'more of length 128', $x15 using 1:2 with linespoints dashtype 2 title 'linear', $x16 using 1:2 with linespoints dashtype 1 title 'ntk', $x17 using 1:2 with linespoints dashtype 2 title 'dynamic', $x18 using 1:2 with linespoints dashtype 1 title 'yarn', $x19 using 1:2 with linespoints dashtype 2 title 'yarn, 4 turns', $x20 using 1:2 with linespoints dashtype 1 title 'longrope', $x21 using 1:2 with linespoints dashtype 2 title 'llama3', $x22 using 1:2 with linespoints dashtype 1 title 'base 500000', $x23 using 1:2 with linespoints dashtype 2 title 'log n', $x24 using 1:2 with linespoints dashtype 1 title 'ntk, log n'
set title 'other encodings, trained at 128'
plot $x25 using 1:2 with linespoints dashtype 2 title 'rotary', $x26 using 1:2 with linespoints dashtype 1 title 'transformer_xl', $x27 using 1:2 with linespoints dashtype 2 title 'nezha', $x28 using 1:2 with linespoints dashtype 1 title 'alibi', $x29 using 1:2 with linespoints dashtype 2 title 'shaw', $x30 using 1:2 with linespoints dashtype 1 title 't5'
