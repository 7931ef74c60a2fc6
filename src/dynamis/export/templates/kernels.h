@INTRO@
#ifndef @UP@_H
#define @UP@_H

#ifdef __cplusplus
extern "C" {
#endif

@PROTOTYPES@
#ifdef __cplusplus
}
#endif

#endif /* @UP@_H */
