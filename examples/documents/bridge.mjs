// Hands the jobs of the store over to BullMQ.
//
// A job exists in the store exactly if its version was committed.  It is claimed, added to
// BullMQ, and completed: at least once.  BullMQ drops a job that it has already, and doing
// one twice is doing it once.  While Redis is away, jobs are given back without counting
// the attempt, so an outage does not fill the dead letters.  While some jobs are on their
// way to Redis, others are claimed.
import { Queue } from 'bullmq';
import { connectPool, onEnd, redisOptions, sleep } from './settings.mjs';

const BATCH = 100;
const LANES = 2;
const LEASE = '60 s';
const PAUSE = Number(process.env.BRIDGE_PAUSE ?? 1000);

const pool = connectPool(LANES);
const queue = new Queue('documents', {
    connection: { ...redisOptions, enableOfflineQueue: false, maxRetriesPerRequest: 1, commandTimeout: 5000 },
});
let stopped = false;

queue.on('error', () => {});    // told by each command

// The form that BullMQ takes; ids must not be numbers, nor have a colon.
const asBullJob = ({ payload }) => ({
    name: 'diff',
    data: payload,
    opts: {
        jobId: `diff-${payload.newVersionId}`, attempts: 10, backoff: { type: 'exponential', delay: 1000 },
        removeOnComplete: 1000, removeOnFail: 10000,
    },
});

// Hand over some jobs; returns how many there were.
async function handOver() {
    const { rows } = await pool.query('SELECT * FROM dms.claim_jobs($1, $2, $3)', ['bullmq', BATCH, LEASE]);

    if (rows.length === 0)
        return 0;
    const claim = [rows.map(row => row.job_id), rows[0].lease];

    try {
        await queue.addBulk(rows.map(asBullJob));
    } catch (error) {
        console.error(`bridge: Redis: ${error.message}`);
        await pool.query('SELECT dms.release_jobs($1, $2, $3)', [...claim, `${PAUSE} ms`]);
        return 0;
    }
    await pool.query('SELECT dms.complete_jobs($1, $2)', claim);
    return rows.length;
}

// Hand over jobs until the program ends.
async function run() {
    while (!stopped) {
        const n = await handOver().catch(error => {
            console.error(`bridge: ${error.message}`);
            return 0;
        });

        if (n < BATCH)
            await sleep(PAUSE);
    }
}

onEnd(() => { stopped = true; return queue.close(); });
console.log('bridge: running');
await Promise.all(Array.from({ length: LANES }, run));
