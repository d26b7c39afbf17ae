{-# LANGUAGE ForeignFunctionInterface #-}

-- | What all threads of the process have used so far, by getrusage.
module Resources (Resources (..), peakBytes, resources) where

import Data.Int (Int64)
import Data.Word (Word64)
import Foreign.C.Types (CInt (..))
import Foreign.Marshal.Alloc (allocaBytesAligned)
import Foreign.Ptr (Ptr)
import Foreign.Storable (peekElemOff)

data Resources = Resources
  {cpuNs, voluntary, involuntary, minorFaults, majorFaults :: !Word64}

foreign import ccall unsafe "sys/resource.h getrusage"
  c_getrusage :: CInt -> Ptr Int64 -> IO CInt

-- | struct rusage of 64-bit Linux: two timevals and 14 longs, all of 8 bytes.
resources :: IO Resources
resources = allocaBytesAligned (18 * 8) 8 $ \used -> do
  failed <- c_getrusage 0 used
  if failed /= 0 then ioError (userError "getrusage failed") else pure ()
  let number index = fromIntegral <$> peekElemOff used index
      time index = (\s us -> 1000000000 * s + 1000 * us) <$> number index <*> number (index + 1)
  user <- time 0
  system <- time 2
  Resources (user + system) <$> number 16 <*> number 17 <*> number 8 <*> number 9

-- | The highest resident set so far, 0 where unknown. Not ru_maxrss, which survives exec: it shows the size of
-- whoever launched the program.
peakBytes :: IO Word64
peakBytes = do
  status <- readFile "/proc/self/status"
  pure $ case [number | line <- lines status, "VmHWM:" : number : _ <- [words line]] of
    number : _ -> 1024 * read number
    [] -> 0
