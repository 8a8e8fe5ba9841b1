# drawn with: gnuplot curves.gp
$steps0 << EOD
400 0.12961 3.0763 3.0510 3.1070
800 0.25922 2.7906 2.7762 2.8066
1200 0.38884 2.6398 2.6319 2.6479
1600 0.51845 2.5448 2.5366 2.5601
2000 0.64806 2.4849 2.4628 2.4975
2400 0.77767 2.4459 2.4363 2.4572
2800 0.90729 2.4031 2.3948 2.4170
3200 1.0369 2.3753 2.3660 2.3879
EOD
$lengths0 << EOD
256 2.8285
512 2.8220
1024 4.0327
2048 4.7391
EOD
$steps1 << EOD
400 0.12658 3.0670 3.0563 3.0871
800 0.25316 2.7840 2.7795 2.7918
1200 0.37975 2.6355 2.6330 2.6380
1600 0.50633 2.5486 2.5386 2.5558
2000 0.63291 2.4902 2.4681 2.5048
2400 0.75949 2.4395 2.4366 2.4449
2800 0.88607 2.3953 2.3868 2.4090
3200 1.0127 2.3774 2.3692 2.3855
EOD
$lengths1 << EOD
256 2.8382
512 3.9134
1024 4.6503
2048 4.9860
EOD
$steps2 << EOD
400 0.12872 3.0495 3.0362 3.0576
800 0.25744 2.7753 2.7721 2.7775
1200 0.38616 2.6331 2.6193 2.6464
1600 0.51488 2.5506 2.5363 2.5613
2000 0.6436 2.4863 2.4703 2.4983
2400 0.77232 2.4486 2.4415 2.4561
2800 0.90104 2.3994 2.3840 2.4168
3200 1.0298 2.3775 2.3570 2.4004
EOD
$lengths2 << EOD
256 2.8259
512 3.5322
1024 4.3353
2048 4.8429
EOD
$steps3 << EOD
400 0.12878 3.0582 3.0474 3.0755
800 0.25756 2.7923 2.7911 2.7936
1200 0.38634 2.6302 2.6167 2.6472
1600 0.51513 2.5591 2.5563 2.5644
2000 0.64391 2.4941 2.4812 2.5067
2400 0.77269 2.4518 2.4425 2.4651
2800 0.90147 2.4092 2.3990 2.4146
3200 1.0303 2.3868 2.3810 2.3915
EOD
$lengths3 << EOD
256 2.8183
512 3.5968
1024 4.4424
2048 4.8625
EOD
$steps4 << EOD
400 0.12987 3.0498 3.0469 3.0518
800 0.25973 2.7863 2.7662 2.8173
1200 0.3896 2.6512 2.6280 2.6766
1600 0.51947 2.5625 2.5442 2.5967
2000 0.64934 2.5026 2.4860 2.5199
2400 0.7792 2.4576 2.4393 2.4732
2800 0.90907 2.4177 2.3959 2.4414
3200 1.0389 2.3967 2.3813 2.4189
EOD
$lengths4 << EOD
256 2.8402
512 3.3517
1024 3.8217
2048 4.2054
EOD
$steps5 << EOD
400 0.12834 3.6210 3.6030 3.6360
800 0.25668 3.2434 3.2255 3.2787
1200 0.38502 3.0087 2.9761 3.0502
1600 0.51337 2.8675 2.8185 2.9175
2000 0.64171 2.7633 2.7084 2.8022
2400 0.77005 2.6988 2.6377 2.7458
2800 0.89839 2.6417 2.5779 2.6860
3200 1.0267 2.6078 2.5442 2.6522
EOD
$lengths5 << EOD
256 3.0621
512 4.2033
1024 4.9877
2048 5.2880
EOD
$steps6 << EOD
400 0.12572 3.6369 3.6162 3.6607
800 0.25143 3.2273 3.2013 3.2527
1200 0.37715 2.9903 2.9606 3.0140
1600 0.50287 2.8620 2.8466 2.8729
2000 0.62859 2.7598 2.7517 2.7684
2400 0.7543 2.6945 2.6934 2.6959
2800 0.88002 2.6412 2.6334 2.6473
3200 1.0057 2.6105 2.6033 2.6161
EOD
$lengths6 << EOD
256 3.0637
512 4.1246
1024 4.7198
2048 5.0024
EOD
$steps7 << EOD
400 0.12763 3.6354 3.6132 3.6480
800 0.25526 3.2624 3.2137 3.2997
1200 0.38289 3.0270 2.9652 3.0716
1600 0.51052 2.8945 2.8225 2.9669
2000 0.63815 2.7883 2.7134 2.8469
2400 0.76578 2.7182 2.6600 2.7749
2800 0.8934 2.6583 2.5961 2.7112
3200 1.021 2.6284 2.5664 2.6860
EOD
$lengths7 << EOD
256 3.0663
512 4.0961
1024 4.7253
2048 5.1438
EOD
$steps8 << EOD
400 0.12623 3.6513 3.6235 3.6790
800 0.25246 3.2754 3.2505 3.2976
1200 0.3787 3.0487 3.0400 3.0541
1600 0.50493 2.9216 2.9144 2.9351
2000 0.63116 2.8228 2.8090 2.8346
2400 0.75739 2.7568 2.7440 2.7669
2800 0.88362 2.6949 2.6825 2.7060
3200 1.0099 2.6678 2.6523 2.6823
EOD
$lengths8 << EOD
256 3.1148
512 4.0353
1024 4.6058
2048 4.8849
EOD
$steps9 << EOD
400 0.12624 3.6677 3.6450 3.6988
800 0.25248 3.2818 3.2612 3.3050
1200 0.37871 3.0563 3.0344 3.0684
1600 0.50495 2.9404 2.9298 2.9498
2000 0.63119 2.8478 2.8178 2.8678
2400 0.75743 2.7804 2.7745 2.7867
2800 0.88366 2.7163 2.7016 2.7252
3200 1.0099 2.6872 2.6706 2.7043
EOD
$lengths9 << EOD
256 3.1232
512 4.0315
1024 4.6191
2048 4.9491
EOD
set terminal svg background rgb 'white' size 1500,420 noenhanced font ',11'
set output 'curves.svg'
set multiplot layout 1,4 title 'The base of rotary and of sinusoidal positions, as a causal language model of bytes'
set grid
unset key
set ylabel 'held-out loss (bits per character)'
set xlabel 'step'
plot $steps0 using 1:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps0 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 1 linewidth 1.5 notitle, \
     $steps1 using 1:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps1 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 1 linewidth 1.5 notitle, \
     $steps2 using 1:4:5 with filledcurves linetype 3 fillstyle transparent solid 0.15 noborder notitle, $steps2 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 1 linewidth 1.5 notitle, \
     $steps3 using 1:4:5 with filledcurves linetype 4 fillstyle transparent solid 0.15 noborder notitle, $steps3 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 1 linewidth 1.5 notitle, \
     $steps4 using 1:4:5 with filledcurves linetype 5 fillstyle transparent solid 0.15 noborder notitle, $steps4 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 5 dashtype 1 linewidth 1.5 notitle, \
     $steps5 using 1:4:5 with filledcurves linetype 6 fillstyle transparent solid 0.15 noborder notitle, $steps5 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 6 dashtype 1 linewidth 1.5 notitle, \
     $steps6 using 1:4:5 with filledcurves linetype 7 fillstyle transparent solid 0.15 noborder notitle, $steps6 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 7 dashtype 1 linewidth 1.5 notitle, \
     $steps7 using 1:4:5 with filledcurves linetype 8 fillstyle transparent solid 0.15 noborder notitle, $steps7 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 8 dashtype 1 linewidth 1.5 notitle, \
     $steps8 using 1:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps8 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 2 linewidth 1.5 notitle, \
     $steps9 using 1:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps9 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 2 linewidth 1.5 notitle
set xlabel 'minutes, at the fastest rate of the log'
plot $steps0 using 2:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps0 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 1 linewidth 1.5 notitle, \
     $steps1 using 2:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps1 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 1 linewidth 1.5 notitle, \
     $steps2 using 2:4:5 with filledcurves linetype 3 fillstyle transparent solid 0.15 noborder notitle, $steps2 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 1 linewidth 1.5 notitle, \
     $steps3 using 2:4:5 with filledcurves linetype 4 fillstyle transparent solid 0.15 noborder notitle, $steps3 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 1 linewidth 1.5 notitle, \
     $steps4 using 2:4:5 with filledcurves linetype 5 fillstyle transparent solid 0.15 noborder notitle, $steps4 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 5 dashtype 1 linewidth 1.5 notitle, \
     $steps5 using 2:4:5 with filledcurves linetype 6 fillstyle transparent solid 0.15 noborder notitle, $steps5 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 6 dashtype 1 linewidth 1.5 notitle, \
     $steps6 using 2:4:5 with filledcurves linetype 7 fillstyle transparent solid 0.15 noborder notitle, $steps6 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 7 dashtype 1 linewidth 1.5 notitle, \
     $steps7 using 2:4:5 with filledcurves linetype 8 fillstyle transparent solid 0.15 noborder notitle, $steps7 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 8 dashtype 1 linewidth 1.5 notitle, \
     $steps8 using 2:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps8 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 2 linewidth 1.5 notitle, \
     $steps9 using 2:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps9 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 2 linewidth 1.5 notitle
set logscale x 2
set xlabel 'length of texts (tokens)'
plot $lengths0 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 1 linewidth 1.5 notitle, \
     $lengths1 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 1 linewidth 1.5 notitle, \
     $lengths2 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 1 linewidth 1.5 notitle, \
     $lengths3 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 1 linewidth 1.5 notitle, \
     $lengths4 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 5 dashtype 1 linewidth 1.5 notitle, \
     $lengths5 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 6 dashtype 1 linewidth 1.5 notitle, \
     $lengths6 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 7 dashtype 1 linewidth 1.5 notitle, \
     $lengths7 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 8 dashtype 1 linewidth 1.5 notitle, \
     $lengths8 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 2 linewidth 1.5 notitle, \
     $lengths9 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 2 linewidth 1.5 notitle
unset logscale
unset grid
unset border
unset tics
unset xlabel
unset ylabel
set xrange [0:1]
set yrange [0:1]
set key at graph 0, graph 1 left top Left reverse samplen 2 maxcols 1
plot NaN with lines linetype 1 dashtype 1 linewidth 1.5 title 'rotary_1000000  2.38 (mean)', \
     NaN with lines linetype 2 dashtype 1 linewidth 1.5 title 'rotary_100000  2.38 (mean)', \
     NaN with lines linetype 3 dashtype 1 linewidth 1.5 title 'rotary_1000  2.38 (mean)', \
     NaN with lines linetype 4 dashtype 1 linewidth 1.5 title 'rotary_10000  2.39 (mean)', \
     NaN with lines linetype 5 dashtype 1 linewidth 1.5 title 'rotary_100  2.40 (mean)', \
     NaN with lines linetype 6 dashtype 1 linewidth 1.5 title 'sinusoidal_1000  2.61 (mean)', \
     NaN with lines linetype 7 dashtype 1 linewidth 1.5 title 'sinusoidal_100  2.61 (mean)', \
     NaN with lines linetype 8 dashtype 1 linewidth 1.5 title 'sinusoidal_10000  2.63 (mean)', \
     NaN with lines linetype 1 dashtype 2 linewidth 1.5 title 'sinusoidal_100000  2.67 (mean)', \
     NaN with lines linetype 2 dashtype 2 linewidth 1.5 title 'sinusoidal_1000000  2.69 (mean)'
unset multiplot
