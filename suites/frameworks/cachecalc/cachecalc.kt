// frameworks/cachecalc in Kotlin: a coroutine for each task on Dispatchers.Default, a Mutex around the map, delay().

import kotlin.time.Duration
import kotlin.time.Duration.Companion.microseconds
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock

private const val KEYS = 10
private const val FIRST_VALUE = 10_000
private const val STAMPED_EVERY = 16

/** What the tasks compute on. */
private class Cache {
    private val mutex = Mutex()
    private val values = HashMap<String, String>()

    suspend fun compute() = mutex.withLock {
        for (i in 0 until KEYS) {
            val key = "hello$i"
            val value = values[key]?.toInt() ?: FIRST_VALUE
            values[key] = (value + 1).toString()
        }
    }

    fun holds(computations: Long): Boolean {
        val right = (FIRST_VALUE + computations).toString()
        return values.size == KEYS && values.values.all { it == right }
    }
}

private class Load(val tasks: Int, val threads: Long, val pause: Duration) : Toll.State {
    private val waits = LongArray((tasks + STAMPED_EVERY - 1) / STAMPED_EVERY)

    private suspend fun task(cache: Cache, number: Int) {
        cache.compute()
        val begin = if (number % STAMPED_EVERY == 0) System.nanoTime() else 0
        delay(pause)
        if (number % STAMPED_EVERY == 0) waits[number / STAMPED_EVERY] = System.nanoTime() - begin
        cache.compute()
    }

    override fun run(): Long {
        val cache = Cache()
        runBlocking {
            repeat(tasks) { number -> launch(Dispatchers.Default) { task(cache, number) } }
        }
        if (!cache.holds(2L * tasks)) {
            throw Toll.Failure("wrong_answer", "a key of the map does not hold what its tasks computed")
        }
        waits.sort()
        if (waits[0] < pause.inWholeNanoseconds) {
            throw Toll.Failure("wrong_answer", "a task waited ${waits[0]} ns instead of ${pause.inWholeNanoseconds}")
        }
        return tasks.toLong()
    }

    override fun expected() = tasks.toLong()

    override fun units() = tasks.toLong()

    override fun footing(): Map<String, Any> = mapOf(
        "threads" to threads, "serialized_by" to "kotlinx.coroutines.sync.Mutex",
        "waits" to "delay(), whole milliseconds; its thread runs others")

    override fun details(): Map<String, Any> = mapOf(
        "wait_median_us" to waits[waits.size / 2] / 1e3, "wait_longest_us" to waits.last() / 1e3)
}

private fun setUp(arguments: Map<String, Long>): Toll.State {
    val tasks = arguments.getValue("tasks")
    val threads = arguments.getValue("threads")
    val wait = arguments.getValue("wait_us")
    if (tasks !in 1..10_000_000 || threads !in 1..1024 || wait !in 0..1_000_000) {
        throw Toll.Failure("usage", "tasks must be 1 to 10000000, threads 1 to 1024, wait_us 1000000 at most")
    }
    // The dispatcher reads these when it is first used.
    System.setProperty("kotlinx.coroutines.scheduler.core.pool.size", threads.toString())
    System.setProperty("kotlinx.coroutines.scheduler.max.pool.size", maxOf(threads, 2).toString())
    return Load(tasks.toInt(), threads, wait.microseconds)
}

/** As the library's jar has it. */
private fun version() = Job::class.java.getResource("/META-INF/kotlinx_coroutines_core.version")?.readText()?.trim() ?: ""

fun main(words: Array<String>) = Toll.main("Kotlin", listOf(
    Toll.Contender("frameworks/cachecalc", "kotlin_coroutines", "kotlinx.coroutines", version(), "ns", "task", listOf(
        Toll.Parameter("tasks", "1000", "tasks", "tasks of one iteration"),
        Toll.Parameter("wait_us", "8", "us", "what each task waits between its two computations"),
        Toll.Parameter("threads", "cpus", "threads", "threads of the contender's pool, or of its runtime")),
        ::setUp)), words)
