%% tasks/fib in Erlang: a process for each forked call, its result as a message to its parent.
-module(fib).
-export([main/0]).

fib(N) when N < 2 -> N;
fib(N) ->
    Self = self(),
    Tag = make_ref(),  % the call of N - 2 is made in this process, and has children of its own
    spawn(fun() -> Self ! {Tag, fib(N - 1)} end),
    Second = fib(N - 2),
    receive {Tag, First} -> First + Second end.

%% The N-th Fibonacci number, by addition.
number(N) -> number(N, 1, 0).

number(0, _, Found) -> Found;
number(N, Before, Found) -> number(N - 1, Found, Before + Found).

set_up(#{<<"n">> := N, <<"threads">> := Threads}) ->
    N >= 2 andalso N =< 60 orelse toll:fail(usage, io_lib:format("n must be 2 to 60, got ~p", [N])),
    Schedulers = toll:use_schedulers(Threads),
    Forks = number(N + 1) - 1,
    Limit = toll:require_processes(Forks),
    #{run => fun() -> fib(N) end,
      expected => number(N),
      units => Forks,
      footing => #{threads => Schedulers, process_limit => Limit}}.

main() ->
    toll:main([#{workload => <<"tasks/fib">>, name => <<"erlang_processes">>, library => <<"Erlang/OTP">>,
                 unit => <<"ns">>, per => <<"task">>,
                 parameters => [{<<"n">>, <<"27">>, <<"">>, <<"which Fibonacci number; each call of 2 or more forks the one of n - 1 and makes the one of n - 2 itself">>},
                                {<<"threads">>, <<"cpus">>, <<"threads">>, <<"operating-system threads that run the tasks">>}],
                 set_up => fun set_up/1}]).
