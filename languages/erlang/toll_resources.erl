%% What all threads of the process have used so far, and the clock. Erlang does not reach getrusage; the same
%% numbers are read from /proc, where each thread has its own. The emulator's threads live as long as it does.
-module(toll_resources).
-export([now/0, used_since/1, footing/0, clock/0, memory_bytes/0, cgroup_limits/2]).

now() ->
    {ok, Threads} = file:list_dir("/proc/self/task"),
    Statuses = [fields("/proc/self/task/" ++ Thread ++ "/status") || Thread <- Threads],
    {MinorFaults, MajorFaults} = faults(),
    #{cpu_ns => cpu_ns(Threads),
      voluntary_switches => total(<<"voluntary_ctxt_switches">>, Statuses),
      involuntary_switches => total(<<"nonvoluntary_ctxt_switches">>, Statuses),
      minor_faults => MinorFaults,
      major_faults => MajorFaults,
      peak_bytes => 1024 * total(<<"VmHWM">>, [fields("/proc/self/status")])}.

%% What was used since Before. A reading takes milliseconds of CPU time and hundreds of switches, as many as a
%% short batch does: what the next one after it has used is taken off. Readings differ: up to 1.5 ms are left of an
%% empty batch, 3 ms beside other work, and nothing where the next one took more. The peak stays a peak.
used_since(Before) ->
    After = ?MODULE:now(),
    Again = ?MODULE:now(),
    maps:map(fun(peak_bytes, Peak) -> Peak;
                (Name, Count) -> max(0, (Count - maps:get(Name, Before)) - (maps:get(Name, Again) - Count))
             end, After).

%% What is known of a batch's CPU time beside its number.
footing() ->
    <<"/proc, which knows of a running thread what the last tick of the kernel knew; less one reading, of which up to "
      "1.5 ms may be left, 3 ms beside other work, and never below nothing">>.

%% Nanoseconds on a CPU: the first number of each thread's schedstat. Kernels without it leave milliseconds, of
%% user time alone.
cpu_ns(Threads) ->
    try lists:sum([schedstat(Thread) || Thread <- Threads])
    catch error:_ -> 1000000 * element(1, statistics(runtime))
    end.

schedstat(Thread) ->
    {ok, Text} = file:read_file("/proc/self/task/" ++ Thread ++ "/schedstat"),
    binary_to_integer(hd(binary:split(Text, <<" ">>))).

faults() ->
    {ok, Text} = file:read_file("/proc/self/stat"),
    [_, AfterName] = binary:split(Text, <<") ">>),
    Numbers = binary:split(AfterName, <<" ">>, [global]),
    {binary_to_integer(lists:nth(8, Numbers)), binary_to_integer(lists:nth(10, Numbers))}.

%% "Name:  123 kB" lines by name; a thread that has just ended has none.
fields(File) ->
    Text = case file:read_file(File) of {ok, Read} -> Read; {error, _} -> <<>> end,
    Pairs = [binary:split(Line, <<":">>) || Line <- binary:split(Text, <<"\n">>, [global])],
    maps:from_list([{Name, Value} || [Name, Value] <- Pairs]).

total(Name, Statuses) ->
    lists:sum([number(maps:get(Name, Status, <<"0">>)) || Status <- Statuses]).

number(Text) ->
    binary_to_integer(hd(binary:split(string:trim(Text), <<" ">>))).

%% The clock as it is found: the median of what two reads in a row are apart, and the smallest step seen.
clock() ->
    Apart = lists:sort([apart() || _ <- lists:seq(1, 1001)]),
    Steps = [Step || Step <- Apart, Step > 0],
    #{source => <<"monotonic (erlang:monotonic_time)">>,
      resolution_ns => case Steps of [Step | _] -> Step; [] -> 1 end,
      overhead_ns => lists:nth(501, Apart),
      frequency_hz => erlang:convert_time_unit(1, second, nanosecond)}.

apart() ->
    First = erlang:monotonic_time(nanosecond),
    erlang:monotonic_time(nanosecond) - First.

%% The machine's memory, or what a container may have of it; more than anybody has where neither is known.
memory_bytes() ->
    Machine = case 1024 * total(<<"MemTotal">>, [fields("/proc/meminfo")]) of 0 -> 1 bsl 62; Known -> Known end,
    lists:min([Machine | cgroup_limits(<<"/sys/fs/cgroup">>, own_group())]).

%% Below where control groups are mounted, <<>> for the root's; of their version 2 alone.
own_group() ->
    Text = case file:read_file("/proc/self/cgroup") of {ok, Read} -> Read; {error, _} -> <<>> end,
    case [Path || <<"0::/", Path/binary>> <- binary:split(Text, <<"\n">>, [global]), Path =/= <<>>] of
        [Path | _] -> <<"/", Path/binary>>;
        [] -> <<>>
    end.

%% The limits of a control group and of all those around it that have one.
cgroup_limits(Mounted, Group) ->
    Here = case file:read_file(<<Mounted/binary, Group/binary, "/memory.max">>) of
        {ok, Text} -> try [binary_to_integer(string:trim(Text))] catch error:badarg -> [] end;  % "max"
        {error, _} -> []
    end,
    case string:split(Group, "/", trailing) of
        [Around, _] -> Here ++ cgroup_limits(Mounted, Around);
        [_] -> Here
    end.
