{-# LANGUAGE BangPatterns #-}

-- tasks/skynet in Haskell: a lightweight thread for each node, results through one MVar a child.
module Main (main) where

import Control.Concurrent
import Control.Exception (throwIO)
import Control.Monad (forM, void, when)
import Data.Word (Word64)
import Toll
import Units

children :: Word64
children = 10

-- | Inlined where it is used, so that each tree forks by a function that the compiler knows.
tree :: (IO () -> IO ()) -> Word64 -> IO Word64
tree fork tasks = do
  result <- newEmptyMVar
  fork (node result 0 tasks)
  takeMVar result
  where
    node :: MVar Word64 -> Word64 -> Word64 -> IO ()
    node !result !ordinal 1 = putMVar result ordinal
    node !result !ordinal !size = do
      let !step = size `div` children
      sums <- forM [0 .. children - 1] $ \i -> do
        child <- newEmptyMVar
        let !first = ordinal + i * step
        fork (node child first step)
        pure child
      total <- sumOf sums 0
      putMVar result total
{-# INLINE tree #-}

sumOf :: [MVar Word64] -> Word64 -> IO Word64
sumOf [] total = pure $! total
sumOf (child : rest) total = do
  one <- takeMVar child
  sumOf rest $! total + one

-- | Nodes of a tree with this many leaves, the root included; 0 where it is not a power of 10.
nodes :: Word64 -> Word64
nodes 1 = 1
nodes size
  | size >= children && size `mod` children == 0 = let below = nodes (size `div` children) in if below == 0 then 0 else size + below
  | otherwise = 0

made :: Arguments -> IO State
made arguments = do
  let argument key = maybe 0 id (lookup key arguments)
      asked = argument "tasks"
      tasks = fromInteger asked
  when (asked > 10 ^ (18 :: Int) || nodes tasks == 0) . throwIO $
    Failure "unsupported" ("tasks must be a power of 10, got " ++ show asked)
  capabilities <- useCapabilities arguments
  let expectedSum = tasks * (tasks - 1) `div` 2
  counted <- countedUnits (\units -> tree (forkCounted units) tasks) expectedSum
  pure
    State
      { run = tree (void . forkIO) tasks,
        expected = expectedSum,
        units = tasks,
        footing =
          [ ("threads", Number (fromIntegral capabilities)),
            ("results", Text "MVar")
          ]
            ++ if null counted then [("units_created", Number (fromIntegral (nodes tasks)))] else counted
      }

main :: IO ()
main =
  tollMain
    [ Contender
        { workload = "tasks/skynet",
          name = "haskell_forkio",
          library = "GHC base",
          unit = "ns",
          per = "task",
          parameters =
            [ Parameter "tasks" "100000" "leaf tasks" "leaves of the tree, a power of 10",
              Parameter "threads" "cpus" "threads" "operating-system threads that run the tasks; 0: one for each task, or as many as the runtime chooses",
              Fixed "pinning" "none" "" "none: the kernel places the threads; each_cpu: thread i is tied to the i-th CPU that the process may use, from the first again where CPUs are fewer" "threads are bound by an option of the runtime's start (+RTS -qa), which this program is started without"
            ],
          setUp = made
        }
    ]
