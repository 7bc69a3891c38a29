# SPDX-License-Identifier: Apache-2.0
# Release builds: functions of the C library that know a buffer's size end the program where it
# overflows, the stack has canaries, and no table of functions stays writable. The sanitizers have
# checks of their own, which these would hide.
#
# Where files are read (QUICK in WeftTargets.cmake) every function with an array or an address on
# the stack has a canary; where events are handled those with arrays of letters, as canaries
# everywhere take 3 % of a run's instructions there.
set(WEFT_HARDENING_OPTIONS $<$<CONFIG:Release>:-U_FORTIFY_SOURCE> $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=2>
  $<$<CONFIG:Release>:-fstack-protector>)
set(WEFT_QUICK_HARDENING_OPTIONS $<$<CONFIG:Release>:-fstack-protector-strong>)
add_link_options($<$<CONFIG:Release>:-Wl,-z,relro> $<$<CONFIG:Release>:-Wl,-z,now>)
