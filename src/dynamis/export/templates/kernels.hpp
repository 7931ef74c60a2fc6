@INTRO@
#ifndef @UP@_HPP
#define @UP@_HPP

#include <array>

#include "@STEM@.h"

namespace dynamis::@SPACE@ {

@FUNCTIONS@
}  // namespace dynamis::@SPACE@

#endif  // @UP@_HPP
