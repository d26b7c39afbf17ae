-- | Counts concurrency units in a pass of its own, which nobody times.
module Units (Units, countedUnits, forkCounted) where

import Control.Concurrent (forkIO)
import Control.Exception (throwIO)
import Control.Monad (void, when)
import Data.IORef
import Data.Word (Word64)
import System.Environment (lookupEnv)
import Toll

-- | Units made, alive, and alive at most.
type Units = IORef (Integer, Integer, Integer)

-- | A lightweight thread that is counted from its making to the end of its work.
forkCounted :: Units -> IO () -> IO ()
forkCounted units work = do
  change (\(made, alive, peak) -> (made + 1, alive + 1, max peak (alive + 1)))
  void . forkIO $ work >> change (\(made, alive, peak) -> (made, alive - 1, peak))
  where
    change by = atomicModifyIORef' units (\old -> let (made, alive, peak) = by old in made `seq` alive `seq` peak `seq` ((made, alive, peak), ()))

-- | What the units told, for the footing; empty where the runner asks for no counting.
countedUnits :: (Units -> IO Word64) -> Word64 -> IO [(String, Value)]
countedUnits count right = do
  asked <- lookupEnv "TOLL_UNITS"
  case asked of
    Nothing -> pure []
    Just _ -> do
      units <- newIORef (0, 0, 0)
      answer <- count units
      when (answer /= right) . throwIO $ Failure "wrong_answer" "the sum is wrong while units are counted"
      (made, _, peak) <- readIORef units
      pure [("units_created", Number (fromInteger made)), ("units_alive_peak", Number (fromInteger peak))]
