%% Counts concurrency units in a pass of its own, which nobody times.
-module(toll_units).
-export([made/1, ended/1, counted/2]).

-define(CREATED, 1).
-define(ALIVE, 2).
-define(PEAK, 3).

%% Told before a unit starts.
made(Units) ->
    atomics:add(Units, ?CREATED, 1),
    raise(Units, atomics:add_get(Units, ?ALIVE, 1), atomics:get(Units, ?PEAK)).

raise(Units, Alive, Peak) when Alive > Peak ->
    case atomics:compare_exchange(Units, ?PEAK, Peak, Alive) of
        ok -> ok;
        Higher -> raise(Units, Alive, Higher)
    end;
raise(_, _, _) -> ok.

%% Told when it has done its work.
ended(Units) -> atomics:sub(Units, ?ALIVE, 1).

%% What Run, a function of the counters, told, for the footing; nothing where the runner asks for no counting.
counted(Run, Expected) ->
    case os:getenv("TOLL_UNITS") of
        false -> #{};
        _ ->
            Units = atomics:new(3, []),
            Run(Units) =:= Expected orelse toll:fail(wrong_answer, "the sum is wrong while units are counted"),
            #{units_created => atomics:get(Units, ?CREATED), units_alive_peak => atomics:get(Units, ?PEAK)}
    end.
