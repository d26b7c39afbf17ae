-- tasks/skynet in Haskell: a lightweight thread for each node, results through one MVar a child.
module Main (main) where

import Control.Concurrent
import Control.Exception (throwIO)
import Control.Monad (forM, when)
import Data.Word (Word64)
import Toll

children :: Word64
children = 10

skynet :: MVar Word64 -> Word64 -> Word64 -> IO ()
skynet result ordinal 1 = putMVar result $! ordinal
skynet result ordinal size = do
  let step = size `div` children
  sums <- forM [0 .. children - 1] $ \i -> do
    child <- newEmptyMVar
    _ <- forkIO (skynet child (ordinal + i * step) step)
    pure child
  total <- sumOf sums 0
  putMVar result total

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
      threads = fromInteger (argument "threads")
  when (asked > 10 ^ (18 :: Int) || nodes tasks == 0) . throwIO $
    Failure "unsupported" ("tasks must be a power of 10, got " ++ show asked)
  when (argument "threads" < 1 || argument "threads" > 256) . throwIO $
    Failure "usage" ("threads must be 1 to 256, got " ++ show (argument "threads"))
  setNumCapabilities threads
  capabilities <- getNumCapabilities
  pure
    State
      { run = do
          result <- newEmptyMVar
          _ <- forkIO (skynet result 0 tasks)
          takeMVar result,
        expected = tasks * (tasks - 1) `div` 2,
        units = tasks,
        footing =
          [ ("threads", Number (fromIntegral capabilities)),
            ("units_created", Number (fromIntegral (nodes tasks))),
            ("results", Text "MVar")
          ]
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
              Parameter "threads" "cpus" "threads" "capabilities of the threaded runtime"
            ],
          setUp = made
        }
    ]
