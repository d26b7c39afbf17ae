%% tasks/skynet in Erlang: a process for each node, results as messages to the parent, as in
%% github.com/atemerev/skynet (skynet.erl).
-module(skynet).
-export([main/0]).

-define(CHILDREN, 10).

node(Ordinal, 1, Parent) ->
    Parent ! Ordinal;
node(Ordinal, Size, Parent) ->
    Self = self(),
    Step = Size div ?CHILDREN,
    spawn_children(Ordinal, Step, Self, ?CHILDREN),
    Parent ! sum(?CHILDREN, 0).

spawn_children(_, _, _, 0) -> ok;
spawn_children(Ordinal, Step, Self, Left) ->
    spawn(fun() -> node(Ordinal, Step, Self) end),
    spawn_children(Ordinal + Step, Step, Self, Left - 1).

%% The same tree, with its processes told to the census. Functions of their own: one atom more in every process
%% cost the timed tree 2.8 % of its CPU time.
counted_node(Ordinal, 1, Parent, _) ->
    Parent ! Ordinal;
counted_node(Ordinal, Size, Parent, Units) ->
    Self = self(),
    Step = Size div ?CHILDREN,
    [start_counted(Ordinal + I * Step, Step, Self, Units) || I <- lists:seq(0, ?CHILDREN - 1)],
    Parent ! sum(?CHILDREN, 0).

start_counted(Ordinal, Size, Parent, Units) ->
    toll_units:made(Units),
    spawn(fun() -> counted_node(Ordinal, Size, Parent, Units), toll_units:ended(Units) end).

sum(0, Total) -> Total;
sum(Left, Total) -> receive Sum -> sum(Left - 1, Total + Sum) end.

run(Tasks) ->
    Self = self(),
    spawn(fun() -> node(0, Tasks, Self) end),
    sum(1, 0).

run_counted(Tasks, Units) ->
    start_counted(0, Tasks, self(), Units),
    sum(1, 0).

counted(Tasks) ->
    toll_units:counted(fun(Units) -> run_counted(Tasks, Units) end, Tasks * (Tasks - 1) div 2).

set_up(#{<<"tasks">> := Tasks, <<"threads">> := Threads}) ->
    Units = nodes(Tasks, Tasks, 1),  % the root is a process too
    Schedulers = toll:use_schedulers(Threads),
    Limit = toll:require_processes(Units),
    Derived = #{threads => Schedulers, units_created => Units,
                process_limit => Limit, results => <<"message">>},
    #{run => fun() -> run(Tasks) end,
      expected => Tasks * (Tasks - 1) div 2,
      units => Tasks,
      footing => maps:merge(Derived, counted(Tasks))}.

nodes(_, 1, Sum) -> Sum;
nodes(Tasks, Size, Sum) when Size >= ?CHILDREN, Size rem ?CHILDREN =:= 0 ->
    nodes(Tasks, Size div ?CHILDREN, Sum + Size);
nodes(Tasks, _, _) -> toll:fail(unsupported, io_lib:format("tasks must be a power of 10, got ~p", [Tasks])).

main() ->
    toll:main([#{workload => <<"tasks/skynet">>, name => <<"erlang_processes">>, library => <<"Erlang/OTP">>,
                 unit => <<"ns">>, per => <<"task">>,
                 parameters => [{<<"tasks">>, <<"100000">>, <<"leaf tasks">>, <<"leaves of the tree, a power of 10">>},
                                {<<"threads">>, <<"cpus">>, <<"threads">>, <<"operating-system threads that run the tasks; 0: one for each task, or as many as the runtime chooses">>},
                                {<<"pinning">>, <<"none">>, <<"">>, <<"none: the kernel places the threads; each_cpu: thread i is tied to the i-th CPU that the process may use, from the first again where CPUs are fewer">>,
                                 <<"schedulers are bound by an option of the emulator's start (+sbt), which this program is started without">>}],
                 set_up => fun set_up/1}]).
