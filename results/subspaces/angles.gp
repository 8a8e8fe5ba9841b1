set terminal svg background rgb 'white' size 900,480 noenhanced font ',11'
set output 'angles.svg'
set grid
set key outside right
set xlabel 'principal angle, the smallest first'
set ylabel 'its cosine: 1 the same direction, 0 orthogonal'
set yrange [0:1]
set title 'subspaces of positions and of words; dashed: random ones of the same dimensions'
$concat_1 << EOD
1 0.147673598
EOD
$random_concat_1 << EOD
1 0.160115371
EOD
$concat_2 << EOD
1 0.121254549
EOD
$random_concat_2 << EOD
1 0.165629612
EOD
$concat_3 << EOD
1 0.165510548
EOD
$random_concat_3 << EOD
1 0.162716367
EOD
$learned_1 << EOD
1 0.443903616
EOD
$random_learned_1 << EOD
1 0.23351819
EOD
$learned_2 << EOD
1 0.329386997
EOD
$random_learned_2 << EOD
1 0.232809174
EOD
$learned_3 << EOD
1 0.272271447
2 0.147268245
EOD
$random_learned_3 << EOD
1 0.316650435
2 0.15841508
EOD
$sinusoidal_1 << EOD
1 0.403434352
EOD
$random_sinusoidal_1 << EOD
1 0.464002515
EOD
$sinusoidal_2 << EOD
1 0.382235286
EOD
$random_sinusoidal_2 << EOD
1 0.462922237
EOD
$sinusoidal_3 << EOD
1 0.507770219
EOD
$random_sinusoidal_3 << EOD
1 0.467589535
EOD
$sinusoidal_scaled_1 << EOD
1 0.563451542
EOD
$random_sinusoidal_scaled_1 << EOD
1 0.459095543
EOD
$sinusoidal_scaled_2 << EOD
1 0.514711028
EOD
$random_sinusoidal_scaled_2 << EOD
1 0.458532702
EOD
$sinusoidal_scaled_3 << EOD
1 0.486957384
EOD
$random_sinusoidal_scaled_3 << EOD
1 0.461701348
EOD
plot $concat_1 with linespoints linetype 1 pointsize 0.4 title 'concat-1', $random_concat_1 with lines linetype 1 dashtype 2 notitle, $concat_2 with linespoints linetype 2 pointsize 0.4 title 'concat-2', $random_concat_2 with lines linetype 2 dashtype 2 notitle, $concat_3 with linespoints linetype 3 pointsize 0.4 title 'concat-3', $random_concat_3 with lines linetype 3 dashtype 2 notitle, $learned_1 with linespoints linetype 4 pointsize 0.4 title 'learned-1', $random_learned_1 with lines linetype 4 dashtype 2 notitle, $learned_2 with linespoints linetype 5 pointsize 0.4 title 'learned-2', $random_learned_2 with lines linetype 5 dashtype 2 notitle, $learned_3 with linespoints linetype 6 pointsize 0.4 title 'learned-3', $random_learned_3 with lines linetype 6 dashtype 2 notitle, $sinusoidal_1 with linespoints linetype 7 pointsize 0.4 title 'sinusoidal-1', $random_sinusoidal_1 with lines linetype 7 dashtype 2 notitle, $sinusoidal_2 with linespoints linetype 8 pointsize 0.4 title 'sinusoidal-2', $random_sinusoidal_2 with lines linetype 8 dashtype 2 notitle, $sinusoidal_3 with linespoints linetype 9 pointsize 0.4 title 'sinusoidal-3', $random_sinusoidal_3 with lines linetype 9 dashtype 2 notitle, $sinusoidal_scaled_1 with linespoints linetype 10 pointsize 0.4 title 'sinusoidal_scaled-1', $random_sinusoidal_scaled_1 with lines linetype 10 dashtype 2 notitle, $sinusoidal_scaled_2 with linespoints linetype 11 pointsize 0.4 title 'sinusoidal_scaled-2', $random_sinusoidal_scaled_2 with lines linetype 11 dashtype 2 notitle, $sinusoidal_scaled_3 with linespoints linetype 12 pointsize 0.4 title 'sinusoidal_scaled-3', $random_sinusoidal_scaled_3 with lines linetype 12 dashtype 2 notitle
