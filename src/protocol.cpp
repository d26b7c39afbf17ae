#include "protocol.hpp"

#include <new>
#include <nlohmann/json.hpp>
#include <system_error>

#include "failure.hpp"
#include "toll/allocations.hpp"

namespace toll::protocol {
namespace {

// Ordered: the messages read as docs/protocol.md shows them.
using Json = nlohmann::ordered_json;

std::string line(const Json& message) {
    // Replacing bad UTF-8: an exception's text may hold anything, and must still reach the reader.
    return message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string compiler() {
#if defined(__clang__)
    return "Clang " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__) + "." +
           std::to_string(__clang_patchlevel__);
#else
    return "GCC " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__) + "." +
           std::to_string(__GNUC_PATCHLEVEL__);
#endif
}

std::string_view kind_name(Kind kind) {
    return kind == Kind::batch ? "batch" : "samples";
}

std::uint64_t whole_number(const Json& request, const char* field) {
    const auto found = request.find(field);
    if (found == request.end() || !found->is_number_unsigned()) {
        throw UsageError(std::string("the request needs `") + field + "`, a whole number of at least 0");
    }
    return found->get<std::uint64_t>();
}

RequestType type_of(const Json& request) {
    const auto type = request.find("type");
    if (type == request.end() || !type->is_string()) { throw UsageError("the request has no `type`"); }
    const auto& name = type->get_ref<const std::string&>();
    if (name == "batch") { return RequestType::batch; }
    if (name == "samples") { return RequestType::samples; }
    if (name == "allocations") { return RequestType::allocations; }
    if (name == "stop") { return RequestType::stop; }
    throw UsageError("unknown request '" + name.substr(0, 100) +
                     "'; known are batch, samples, allocations, stop");
}

Json measured(std::string_view type, const Batch& batch, const Counters& counters) {
    Json message{{"type", type},
                 {"iterations", batch.iterations},
                 {"units", batch.units},
                 {"wall_ns", batch.wall_ns},
                 {"cpu_ns", static_cast<double>(batch.used.cpu_ns)},
                 {"gauge_ns", batch.gauge_ns},
                 {"voluntary_switches", batch.used.voluntary_switches},
                 {"involuntary_switches", batch.used.involuntary_switches},
                 {"minor_faults", batch.used.minor_faults},
                 {"major_faults", batch.used.major_faults},
                 {"peak_bytes", batch.peak_bytes},
                 {"checksum", std::to_string(batch.checksum)}};
    Json counts = Json::object();
    for (const auto& [name, count] : batch.counters) { counts[name] = count; }
    if (!counters.reason().empty()) { counts["reason"] = counters.reason(); }
    message["counters"] = std::move(counts);
    if (!batch.details.empty()) { message["details"] = batch.details; }
    if (!batch.cells.empty()) {
        Json cells = Json::array();
        for (const Cell& cell : batch.cells) { cells.push_back({{"key", cell.key}, {"count", cell.count}}); }
        message["cells"] = std::move(cells);
    }
    return message;
}

Json described(const Contender& contender) {
    Json parameters = Json::array();
    for (const Parameter& parameter : contender.parameters()) {
        parameters.push_back({{"name", parameter.name},
                              {"default", parameter.default_value},
                              {"unit", parameter.unit},
                              {"meaning", parameter.meaning}});
    }
    return {{"workload", contender.workload.name},
            {"contender", contender.name},
            {"library", contender.library.name},
            {"library_version", contender.library.version},
            {"kind", kind_name(contender.workload.kind)},
            {"unit", contender.workload.unit},
            {"per", contender.workload.per},
            {"parameters", std::move(parameters)}};
}

bool is_exhaustion(const std::system_error& failure) {
    // std::thread reports EAGAIN for a full process table; mmap and pthread_create, ENOMEM.
    return failure.code() == std::errc::resource_unavailable_try_again ||
           failure.code() == std::errc::not_enough_memory ||
           failure.code() == std::errc::too_many_files_open ||
           failure.code() == std::errc::too_many_files_open_in_system;
}

}  // namespace

Request parse(const std::string& text) {
    const Json request = Json::parse(text, nullptr, false);
    if (!request.is_object()) { throw UsageError("the request is no JSON object"); }
    Request parsed;
    parsed.type = type_of(request);
    if (parsed.type != RequestType::stop) {
        parsed.amount = whole_number(request, parsed.type == RequestType::samples ? "count" : "iterations");
    }
    if (request.contains("layout")) { parsed.layout = whole_number(request, "layout"); }
    return parsed;
}

std::string description(std::span<const Contender> contenders) {
    Json offered = Json::array();
    for (const Contender& contender : contenders) { offered.push_back(described(contender)); }
    return line({{"type", "description"},
                 {"protocol", 1},
                 {"language", "C++"},
                 {"compiler", compiler()},
                 {"contenders", std::move(offered)}});
}

std::string ready(const Launch& launch) {
    const Clock& clock = launch.clock();
    Json footing{{"malloc", malloc_provider()}};
    const Footing observed = launch.footing();
    for (const auto& [name, value] : observed.all()) {
        std::visit([&, &key = name](const auto& held) { footing[key] = held; }, value);
    }
    Json shown{{"source", clock.source_name()},
               {"resolution_ns", clock.resolution_ns()},
               {"overhead_ns", clock.overhead_ns()},
               {"frequency_hz", clock.frequency_hz()}};
    if (!clock.reason().empty()) { shown["reason"] = clock.reason(); }
    return line({{"type", "ready"},
                 {"protocol", 1},
                 {"setup_ns", launch.setup_ns()},
                 {"process_ns", launch.process_ns()},
                 {"clock", std::move(shown)},
                 {"footing", std::move(footing)}});
}

std::string batch(const Batch& batch, const Counters& counters) {
    return line(measured("batch", batch, counters));
}

std::string samples(const Batch& batch, const Counters& counters, std::size_t bytes) {
    Json message = measured("samples", batch, counters);
    message["count"] = batch.iterations;
    message["format"] = "<f4";
    message["unit"] = "ns";
    message["bytes"] = bytes;
    return line(message);
}

std::string allocations(const Batch& counted, const AllocationCounts& counts) {
    return line({{"type", "allocations"},
                 {"iterations", counted.iterations},
                 {"units", counted.units},
                 {"calls", counts.calls},
                 {"bytes", counts.bytes},
                 {"peak_bytes", counts.peak_bytes},
                 {"checksum", std::to_string(counted.checksum)}});
}

std::string stopped() {
    return line({{"type", "stopped"}});
}

std::string error(std::string_view kind, std::string_view message) {
    return line({{"type", "error"}, {"kind", kind}, {"message", message}});
}

std::string current_error() {
    const std::string message = current_failure();
    try {
        throw;
    } catch (const UsageError&) { return error("usage", message); } catch (const Unsupported&) {
        return error("unsupported", message);
    } catch (const WrongAnswer&) { return error("wrong_answer", message); } catch (const std::bad_alloc&) {
        return error("resource", message);
    } catch (const std::system_error& failure) {
        return error(is_exhaustion(failure) ? "resource" : "internal", message);
    } catch (...) { return error("internal", message); }
}

}  // namespace toll::protocol
