%% frameworks/cachecalc in Erlang: a process for each task, and one process that owns the map and computes when asked.
-module(cachecalc).
-export([main/0]).

-define(KEYS, 10).
-define(FIRST_VALUE, 10000).
-define(STAMPED_EVERY, 16).

cache(Values) ->
    receive
        {compute, From} ->
            Computed = lists:foldl(fun computed/2, Values, lists:seq(0, ?KEYS - 1)),
            From ! computed,
            cache(Computed);
        {values, From} -> From ! Values
    end.

computed(Number, Values) ->
    Key = <<"hello", (integer_to_binary(Number))/binary>>,
    Value = case Values of
        #{Key := Text} -> binary_to_integer(Text);
        _ -> ?FIRST_VALUE
    end,
    Values#{Key => integer_to_binary(Value + 1)}.

compute(Cache) ->
    Cache ! {compute, self()},
    receive computed -> ok end.

task(Number, WaitMs, Cache, Parent) when Number rem ?STAMPED_EVERY =:= 0 ->
    compute(Cache),
    Begin = erlang:monotonic_time(nanosecond),
    receive after WaitMs -> ok end,
    Waited = erlang:monotonic_time(nanosecond) - Begin,
    compute(Cache),
    Parent ! {ended, [Waited]};
task(_, WaitMs, Cache, Parent) ->
    compute(Cache),
    receive after WaitMs -> ok end,
    compute(Cache),
    Parent ! {ended, []}.

run(Tasks, WaitUs) ->
    Self = self(),
    Cache = spawn(fun() -> cache(#{}) end),
    WaitMs = (WaitUs + 999) div 1000,
    [spawn(fun() -> task(Number, WaitMs, Cache, Self) end) || Number <- lists:seq(0, Tasks - 1)],
    Waits = [Shortest | _] = lists:sort(ended(Tasks, [])),
    Cache ! {values, Self},
    Values = receive Map when is_map(Map) -> maps:values(Map) end,
    Values =:= lists:duplicate(?KEYS, integer_to_binary(?FIRST_VALUE + 2 * Tasks)) orelse
        toll:fail(wrong_answer, "a key of the map does not hold what its tasks computed"),
    Shortest >= 1000 * WaitUs orelse
        toll:fail(wrong_answer, io_lib:format("a task waited ~p ns instead of ~p", [Shortest, 1000 * WaitUs])),
    put(waits, Waits),
    Tasks.

ended(0, Waits) -> Waits;
ended(Left, Waits) -> receive {ended, Waited} -> ended(Left - 1, Waited ++ Waits) end.

details() ->
    Waits = get(waits),
    #{wait_median_us => lists:nth(length(Waits) div 2 + 1, Waits) / 1.0e3, wait_longest_us => lists:last(Waits) / 1.0e3}.

set_up(#{<<"tasks">> := Tasks, <<"wait_us">> := WaitUs, <<"threads">> := Threads}) ->
    Tasks >= 1 andalso Tasks =< 10000000 andalso WaitUs =< 1000000 orelse
        toll:fail(usage, "tasks must be 1 to 10000000, wait_us 1000000 at most"),
    Schedulers = toll:use_schedulers(Threads),
    toll:require_processes(Tasks),
    #{run => fun() -> run(Tasks, WaitUs) end, expected => Tasks, units => Tasks, details => fun details/0,
      footing => #{threads => Schedulers, serialized_by => <<"process that owns the map">>,
                   waits => <<"receive after: whole milliseconds">>}}.

main() ->
    toll:main([#{workload => <<"frameworks/cachecalc">>, name => <<"erlang_processes">>, library => <<"Erlang/OTP">>,
                 unit => <<"ns">>, per => <<"task">>,
                 parameters => [{<<"tasks">>, <<"1000">>, <<"tasks">>, <<"tasks of one iteration">>},
                                {<<"wait_us">>, <<"8">>, <<"us">>, <<"what each task waits between its two computations">>},
                                {<<"threads">>, <<"cpus">>, <<"threads">>, <<"threads of the contender's pool, or of its runtime">>}],
                 set_up => fun set_up/1}]).
