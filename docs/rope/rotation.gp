# drawn with: gnuplot FILE.gp
if (!exists('out')) out = 'rotation.svg'
if (strstrt(out, '.svg') > 0) {
    set terminal svg background rgb 'white' size 1200,380 noenhanced font ',11'
} else {
    set terminal pngcairo size 1200,380 noenhanced font ',11'
}
set output out
set datafile missing '?'
set linetype 5 linecolor rgb '#8c564b'
$p0 << EOD
0.8 0.6 0 2
-0.07264075 0.9973581 1 1
-0.8784959 0.4777498 2 1
-0.876666 -0.4810995 3 1
-0.06883339 -0.9976282 4 1
0.8022844 -0.5969421 5 1
0.9357855 0.3525698 6 1
EOD
$p1 << EOD
0.8 0.6 0 2
0.7361033 0.6768693 1 0
0.6648517 0.7469755 2 0
0.5869571 0.8096181 3 1
0.5031978 0.8641713 4 0
0.4144107 0.91009 5 0
0.321483 0.9469154 6 1
EOD
$p2 << EOD
0.8 0.6 0 2
0.7939601 0.6079699 1 0
0.7878408 0.615879 2 0
0.7816427 0.6237264 3 0
0.7753665 0.6315116 4 0
0.7690127 0.6392335 5 0
0.7625821 0.6468915 6 0
EOD
$p3 << EOD
0.8 0.6 0 2
0.79992 0.6001067 1 0
0.7998399 0.6002133 2 0
0.7997599 0.60032 3 0
0.7996799 0.6004267 4 0
0.7995998 0.6005333 5 0
0.7995197 0.6006399 6 0
EOD
set multiplot layout 1,4 title "x = (0.8, 0.6), rotated by m theta_i for m = 0 to 6 (RoFormer, Figure 1)\nheads of 64 rotated columns, base 10000"
unset key
unset colorbox
set size ratio -1
set xrange [-1.35:1.35]
set yrange [-1.35:1.35]
set zeroaxis
set xtics 1
set ytics 1
set parametric
set trange [0:2*pi]
set xlabel 'x_1'
set ylabel 'x_2'
set title 'plane 0: theta = 1'
plot cos(t), sin(t) with lines linecolor rgb '#cccccc', \
     $p0 using (0):(0):1:2:(7 > 1 ? column(0) : 0) with vectors filled head linewidth 1.5 linecolor palette, \
     $p0 using (1.15*$1):(1.15*$2):($4 == 2 ? 'm = 0' : $4 == 1 ? sprintf('%d', $3) : '') with labels font ',9'
set title 'plane 8: theta = 0.1'
plot cos(t), sin(t) with lines linecolor rgb '#cccccc', \
     $p1 using (0):(0):1:2:(7 > 1 ? column(0) : 0) with vectors filled head linewidth 1.5 linecolor palette, \
     $p1 using (1.15*$1):(1.15*$2):($4 == 2 ? 'm = 0' : $4 == 1 ? sprintf('%d', $3) : '') with labels font ',9'
set title 'plane 16: theta = 0.01'
plot cos(t), sin(t) with lines linecolor rgb '#cccccc', \
     $p2 using (0):(0):1:2:(7 > 1 ? column(0) : 0) with vectors filled head linewidth 1.5 linecolor palette, \
     $p2 using (1.15*$1):(1.15*$2):($4 == 2 ? 'm = 0' : $4 == 1 ? sprintf('%d', $3) : '') with labels font ',9'
set title 'plane 31: theta = 0.000133'
plot cos(t), sin(t) with lines linecolor rgb '#cccccc', \
     $p3 using (0):(0):1:2:(7 > 1 ? column(0) : 0) with vectors filled head linewidth 1.5 linecolor palette, \
     $p3 using (1.15*$1):(1.15*$2):($4 == 2 ? 'm = 0' : $4 == 1 ? sprintf('%d', $3) : '') with labels font ',9'
unset multiplot
set output
