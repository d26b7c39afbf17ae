{-# LANGUAGE BangPatterns #-}

-- tasks/channel in Haskell: a lightweight thread for each producer and each consumer, one TBQueue of stm.
module Main (main) where

import Control.Concurrent
import Control.Concurrent.STM
import Control.Exception (throwIO)
import Control.Monad
import Data.Word (Word64)
import Toll

capacity :: Integral a => a
capacity = 1024

-- | The last message of a consumer, which no producer sends.
end :: Word64
end = 0

-- | The numbers that a producer sends: the first one, and how many.
share :: Word64 -> Word64 -> Word64 -> (Word64, Word64)
share messages sides index
  | index < longer = (1 + index * (each + 1), each + 1)
  | otherwise = (1 + index * each + longer, each)
  where
    (each, longer) = messages `divMod` sides

produce :: TBQueue Word64 -> (Word64, Word64) -> IO ()
produce queue (first, count) = go first
  where
    go !number = when (number < first + count) $ do
      atomically (writeTBQueue queue number)
      go (number + 1)

-- | How many came and their sum.
consume :: TBQueue Word64 -> IO (Word64, Word64)
consume queue = go 0 0
  where
    go !count !total = do
      number <- atomically (readTBQueue queue)
      if number == end then pure (count, total) else go (count + 1) (total + number)

-- | A thread of its own, and where its result will be.
forked :: IO a -> IO (MVar a)
forked work = do
  result <- newEmptyMVar
  void (forkIO (work >>= putMVar result))
  pure result

-- | What all consumers took: how many and their sum.
through :: Word64 -> Word64 -> IO (Word64, Word64)
through messages sides = do
  queue <- newTBQueueIO capacity
  (producers, consumers) <- fmap unzip . forM [0 .. sides - 1] $ \i ->
    (,) <$> forked (produce queue (share messages sides i)) <*> forked (consume queue)
  mapM_ takeMVar producers
  replicateM_ (length consumers) (atomically (writeTBQueue queue end))
  took <- mapM takeMVar consumers
  pure (sum (map fst took), sum (map snd took))

made :: Arguments -> IO State
made arguments = do
  let given = maybe 0 id (lookup "messages" arguments)
      messages = fromInteger given
  when (given < 1 || given > 1000000000) . throwIO $
    Failure "usage" ("messages must be 1 to 1000000000, got " ++ show given)
  capabilities <- useCapabilities arguments
  let sides = max 1 (fromIntegral capabilities `div` 2) :: Word64
  pure
    State
      { run = do
          (count, total) <- through messages sides
          when (count /= messages) . throwIO . Failure "wrong_answer" $
            show count ++ " messages came of " ++ show messages
          pure total,
        expected = messages * (messages + 1) `div` 2,
        units = messages,
        footing =
          [ ("threads", Number (fromIntegral capabilities)),
            ("producers", Number (fromIntegral sides)),
            ("consumers", Number (fromIntegral sides))
          ]
      }

main :: IO ()
main =
  tollMain
    [ Contender
        { workload = "tasks/channel",
          name = "haskell_tbqueue",
          library = "GHC stm",
          unit = "ns",
          per = "message",
          parameters =
            [ Parameter "messages" "100000" "messages" "numbers that go through the channel, of all producers",
              Parameter "threads" "cpus" "threads" "operating-system threads that run half as many producers and consumers each, at least one"
            ],
          setUp = made
        }
    ]
