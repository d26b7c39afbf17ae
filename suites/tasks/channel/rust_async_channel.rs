// tasks/channel with async-channel: a tokio task for each producer and each consumer, one bounded channel.

use serde_json::json;
use tokio::runtime::{Builder, Runtime};

const CAPACITY: usize = 1024;

/// How many messages a consumer took, and their sum.
type Received = (u64, u64);

struct Sides {
    runtime: Runtime,
    messages: u64,
    threads: usize,
    sides: u64,
}

impl Sides {
    /// What producer `index` sends begins with this.
    fn first(&self, index: u64) -> u64 {
        1 + index * (self.messages / self.sides) + index.min(self.messages % self.sides)
    }

    async fn through(&self) -> Received {
        let (sender, receiver) = async_channel::bounded(CAPACITY);
        let mut producers = Vec::new();
        let mut consumers = Vec::new();
        for index in 0..self.sides {
            let (sender, numbers) = (sender.clone(), self.first(index)..self.first(index + 1));
            producers.push(tokio::spawn(async move {
                for number in numbers {
                    sender.send(number).await.expect("the channel was closed");
                }
            }));
            let receiver = receiver.clone();
            consumers.push(tokio::spawn(async move {
                let (mut count, mut sum) = (0, 0);
                while let Ok(number) = receiver.recv().await {
                    count += 1;
                    sum += number;
                }
                (count, sum)
            }));
        }
        drop(sender); // it closes with the last producer's
        for producer in producers {
            producer.await.expect("a producer panicked");
        }
        let mut all = (0, 0);
        for consumer in consumers {
            let (count, sum) = consumer.await.expect("a consumer panicked");
            all = (all.0 + count, all.1 + sum);
        }
        all
    }
}

impl toll::State for Sides {
    fn run(&mut self) -> u64 {
        let (count, sum) = self.runtime.block_on(self.through());
        assert_eq!(count, self.messages, "messages came, and were sent");
        sum
    }

    fn expected(&self) -> u64 {
        self.messages * (self.messages + 1) / 2
    }

    fn units(&self) -> u64 {
        self.messages
    }

    fn footing(&self) -> serde_json::Value {
        json!({"threads": self.threads, "producers": self.sides, "consumers": self.sides})
    }
}

fn set_up(arguments: &toll::Arguments) -> Result<Box<dyn toll::State>, toll::Error> {
    let messages = toll::number(arguments, "messages", 1..=1_000_000_000)?;
    let threads = toll::threads(arguments)?;
    match Builder::new_multi_thread().worker_threads(threads).build() {
        Ok(runtime) => Ok(Box::new(Sides { runtime, messages, threads, sides: (threads as u64 / 2).max(1) })),
        Err(error) => Err(toll::Error::no_threads("tokio", error)),
    }
}

fn main() -> std::process::ExitCode {
    toll::main(&[toll::Contender {
        workload: "tasks/channel",
        name: "rust_async_channel",
        library: "async-channel",
        library_version: toll::locked_version(include_str!("Cargo.lock"), "async-channel"),
        unit: "ns",
        per: "message",
        parameters: &[
            toll::Parameter {
                name: "messages",
                default: "100000",
                unit: "messages",
                meaning: "numbers that go through the channel, of all producers",
                only: "",
            },
            toll::Parameter {
                name: "threads",
                default: "cpus",
                unit: "threads",
                meaning: "operating-system threads that run half as many producers and consumers each, at least one",
                only: "",
            },
        ],
        set_up,
    }])
}
