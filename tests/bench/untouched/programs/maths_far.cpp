#include <cmath>

namespace far {

double polynomial(double x);
double norm(const double* numbers, unsigned count);

double polynomial(double x) {
    // MUTATE[BM_Polynomials]: 1.5, -2.25 => -2.25, 1.5
    static const double factors[] = {0.75, 1.5, -2.25, 3.125, -0.5};
    double sum = 0.0;
    // MUTATE[BM_Polynomials]: sum * x + factor => sum * x - factor
    for (const double factor : factors) { sum = sum * x + factor; }
    // MUTATE[BM_Polynomials]: > 2.0 => > 1.0
    return sum > 2.0 ? sum / 2 : sum;
}

double norm(const double* numbers, unsigned count) {
    double sum = 0.0;
    // MUTATE[BM_Vectors]: sum += => sum -=
    for (unsigned index = 0; index < count; ++index) { sum += numbers[index] * numbers[index]; }
    // MUTATE[BM_Vectors]: std::sqrt => std::cbrt
    return std::sqrt(std::fabs(sum));
}

}  // namespace far
