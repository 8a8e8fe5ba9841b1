# drawn with: gnuplot planes.gp
$x << EOD
100 ? ? ? ? ? ? ? ? 41.6496 42.1675 42.3114 42.5649 7.2981 0.0020
200 ? ? ? ? ? ? ? ? 42.1352 42.9997 43.0154 42.7717 7.1347 0.0057
300 ? ? ? ? ? ? ? ? 41.9173 43.6497 43.1266 42.6950 7.0290 0.0064
400 ? ? ? ? ? ? ? ? 41.9768 43.6379 43.0301 42.7595 6.9551 0.0364
500 ? ? ? ? ? ? ? ? 41.9385 43.6049 42.9762 42.7432 6.9075 0.0448
600 ? ? ? ? ? ? ? ? 42.0836 43.5960 42.8538 42.8199 6.8593 0.0612
700 ? ? ? ? ? ? ? ? 42.1329 44.1203 42.9003 42.8421 6.8249 0.0520
800 ? ? ? ? ? ? ? ? 42.1454 43.9441 42.8966 42.8721 6.8101 0.0569
900 ? ? ? ? ? ? ? ? 42.0989 43.7326 42.8685 42.8233 6.7972 0.0582
1000 ? ? ? ? ? ? ? ? 42.1239 43.7545 42.8595 42.8232 6.7966 0.0564
EOD
set terminal svg background rgb 'white' size 1600,420 noenhanced font ',11'
set output 'planes.svg'
set multiplot layout 1,3
set grid
set key outside right
set datafile missing '?'
set xlabel 'step'
set multiplot next
set title 'mean distance of attention, by layer'
plot $x using 1:10 with linespoints title '0', $x using 1:11 with linespoints title '1', $x using 1:12 with linespoints title '2', $x using 1:13 with linespoints title '3'
set title 'loss, and by how much it rises without order'
plot $x using 1:14 with linespoints title 'loss', $x using 1:15 with linespoints title 'order'
unset multiplot
