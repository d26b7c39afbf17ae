#pragma once

#include <fstream>
#include <string>
#include <string_view>

namespace toll {

/// The control group that this process is in, as "/a/b": of version 2 where `controller` is empty, else that
/// of version 1 which has `controller` ("pids"). "" where it is the root, or there is none.
inline std::string own_control_group(std::string_view controller = {},
                                     const std::string& told = "/proc/self/cgroup") {
    std::ifstream groups(told);
    for (std::string line; std::getline(groups, line);) {  // "4:cpu,pids:/a/b", "0::/a/b"
        const auto first = line.find(':');
        const auto second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) { continue; }
        const std::string all = "," + line.substr(first + 1, second - first - 1) + ",";
        if (all.find("," + std::string(controller) + ",") == std::string::npos) { continue; }
        const std::string path = line.substr(second + 1);
        return path == "/" ? "" : path;
    }
    return "";
}

/// Calls visit(folder) for the control group `path` under `mounted` and for each that it lies in, up to the
/// root: the limits of all of them hold.
template <class Visit>
void each_control_group(const std::string& mounted, std::string path, Visit visit) {
    for (;;) {
        visit(mounted + path);
        const auto end = path.rfind('/');
        if (path.empty() || end == std::string::npos) { return; }
        path.resize(end);
    }
}

}  // namespace toll
