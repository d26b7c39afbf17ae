// expect: a contender must be constructible from const toll::Arguments& or from nothing
#include "workload.hpp"
struct NeedsAnInt {
    explicit NeedsAnInt(int) {}
};
inline NeedsAnInt make(const toll::Arguments& arguments) {
    return toll::make_contender<NeedsAnInt>(arguments);
}
