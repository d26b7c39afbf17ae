// A tree in place of a hash table.
#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <unordered_map>

namespace {

#ifdef AFTER
using Names = std::map<std::string, int>;
#else
using Names = std::unordered_map<std::string, int>;
#endif

class Registry {
public:
    [[gnu::noinline]] void add(const std::string& name, int value) { names_[name] = value; }
    [[gnu::noinline]] int find(const std::string& name) const {
        const auto found = names_.find(name);
        return found == names_.end() ? -1 : found->second;
    }

private:
    Names names_;
};

[[gnu::noinline]] int ask(const Registry& registry, const std::string& name) {
    return registry.find(name) + 1;
}

void registry(benchmark::State& state) {
    Registry registry;
    for (int number = 0; number < 4000; ++number) {
        registry.add("name of " + std::to_string(number), number);
    }
    const std::string wanted = "name of 1729";
    for (auto _ : state) { benchmark::DoNotOptimize(ask(registry, wanted)); }
}
BENCHMARK(registry);

}  // namespace
BENCHMARK_MAIN();
