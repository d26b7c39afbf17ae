// tasks/socket with tokio: a task for each end of a connection; each side has a runtime of one thread.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

const WORDS: usize = 8;
const BYTES: usize = 8 * WORDS;
/// A request has its number in the first word, and other numbers made of it behind.
type Message = [u8; BYTES];

fn of_words(word: impl Fn(u64) -> u64) -> Message {
    let mut message = [0; BYTES];
    for (i, bytes) in message.chunks_exact_mut(8).enumerate() {
        bytes.copy_from_slice(&word(i as u64).to_le_bytes());
    }
    message
}

fn word(message: &Message, i: u64) -> u64 {
    let at = 8 * i as usize;
    u64::from_le_bytes(message[at..at + 8].try_into().expect("eight bytes"))
}

fn request(number: u64) -> Message {
    of_words(|i| number + i)
}

/// Each word twice as large.
fn answer_to(request: &Message) -> Message {
    of_words(|i| 2 * word(request, i))
}

/// Twice `number`, if that is the answer to the request of this number, else 0.
fn checked(answer: &Message, number: u64) -> u64 {
    if *answer == answer_to(&request(number)) {
        word(answer, 0)
    } else {
        0
    }
}

/// Until the client has closed.
async fn serve(mut stream: TcpStream) {
    let mut message = [0; BYTES];
    while stream.read_exact(&mut message).await.is_ok() {
        if stream.write_all(&answer_to(&message)).await.is_err() {
            return;
        }
    }
}

async fn ask(mut stream: TcpStream, numbers: std::ops::Range<u64>) -> std::io::Result<(TcpStream, u64)> {
    let mut sum = 0;
    let mut answer = [0; BYTES];
    for number in numbers {
        stream.write_all(&request(number)).await?;
        stream.read_exact(&mut answer).await?;
        sum += checked(&answer, number);
    }
    Ok((stream, sum))
}

struct Pair {
    asking: Runtime,
    clients: Vec<TcpStream>,
    requests: u64,
    connections: u64,
}

impl Pair {
    /// What connection `index` asks begins with this.
    fn first(&self, index: u64) -> u64 {
        1 + index * (self.requests / self.connections) + index.min(self.requests % self.connections)
    }
}

impl toll::State for Pair {
    fn run(&mut self) -> u64 {
        let clients = std::mem::take(&mut self.clients);
        let numbers: Vec<_> = (0..self.connections).map(|i| self.first(i)..self.first(i + 1)).collect();
        let (clients, sum) = self.asking.block_on(async {
            let asking: Vec<_> =
                clients.into_iter().zip(numbers).map(|(client, share)| tokio::spawn(ask(client, share))).collect();
            let (mut clients, mut sum) = (Vec::new(), 0);
            for one in asking {
                let (client, answers) = one.await.expect("a client panicked").expect("a connection broke");
                clients.push(client);
                sum += answers;
            }
            (clients, sum)
        });
        self.clients = clients;
        sum
    }

    fn expected(&self) -> u64 {
        self.requests * (self.requests + 1)
    }

    fn units(&self) -> u64 {
        self.requests
    }

    fn footing(&self) -> serde_json::Value {
        json!({"connections": self.connections, "threads": 2})
    }
}

async fn accepting(listener: std::net::TcpListener, connections: u64) -> std::io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let mut serving = Vec::new();
    for _ in 0..connections {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        serving.push(tokio::spawn(serve(stream)));
    }
    for one in serving {
        one.await.expect("a server panicked");
    }
    Ok(())
}

fn connected(requests: u64, connections: u64) -> std::io::Result<Pair> {
    let runtime = || Builder::new_current_thread().enable_io().build();
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let answering = runtime()?;
    std::thread::Builder::new().spawn(move || answering.block_on(accepting(listener, connections)))?;
    let asking = runtime()?;
    let clients = asking.block_on(async {
        let mut clients = Vec::new();
        for _ in 0..connections {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            clients.push(stream);
        }
        Ok::<_, std::io::Error>(clients)
    })?;
    Ok(Pair { asking, clients, requests, connections })
}

fn set_up(arguments: &toll::Arguments) -> Result<Box<dyn toll::State>, toll::Error> {
    let requests = toll::number(arguments, "requests", 1..=1_000_000_000)?;
    let connections = toll::number(arguments, "connections", 1..=400)?;
    match connected(requests, connections) {
        Ok(pair) => Ok(Box::new(pair)),
        Err(error) => Err(toll::Error::new("resource", format!("cannot connect over loopback: {error}"))),
    }
}

fn main() -> std::process::ExitCode {
    toll::main(&[toll::Contender {
        workload: "tasks/socket",
        name: "rust_tokio",
        library: "tokio",
        library_version: toll::locked_version(include_str!("Cargo.lock"), "tokio"),
        unit: "ns",
        per: "request",
        parameters: &[
            toll::Parameter {
                name: "requests",
                default: "10000",
                unit: "requests",
                meaning: "requests over all connections, each with its answer",
                only: "",
            },
            toll::Parameter {
                name: "connections",
                default: "20",
                unit: "connections",
                meaning: "TCP connections over loopback, open all along",
                only: "",
            },
        ],
        set_up,
    }])
}
