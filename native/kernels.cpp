// The kernels for one instruction set, SUFFICE_ISA.
#include "moments.hpp"
#include "scores.hpp"

namespace suffice::SUFFICE_ISA {

#define SUFFICE_TABLE(T) {diag_moments<T>, full_moments<T>, diag_scores<T>, full_scores<T>, linear_scores<T>}
extern const Kernels<float> f32 = SUFFICE_TABLE(float);
extern const Kernels<double> f64 = SUFFICE_TABLE(double);

}  // namespace suffice::SUFFICE_ISA
