import { AUTOCANNON } from './autocannon.ts';
import { BESIDE } from './beside.ts';
import { FIRST_REQUEST } from './first-request.ts';
import { GARBAGE } from './garbage.ts';
import { IMPORT } from './import.ts';
import { INBOX } from './inbox.ts';
import type { Work } from './lib/work.ts';
import { P1 } from './p1-notifications.ts';
import { P2 } from './p2-sends.ts';
import { P3 } from './p3-latency.ts';
import { P4 } from './p4-fanout.ts';
import { P5 } from './p5-bursts.ts';
import { P6 } from './p6-streaming.ts';
import { P7 } from './p7-idle-memory.ts';
import { P8 } from './p8-idle-time.ts';
import { P9 } from './p9-nodes.ts';
import { P10 } from './p10-resume.ts';
import { P12 } from './p12-steady-load.ts';
import { P13 } from './p13-growth.ts';
import { P14 } from './p14-start.ts';
import { PROCESSES } from './processes.ts';
import { SEARCH } from './search.ts';
import { SEND_PARTS } from './send-parts.ts';
import { SLOW_READERS } from './slow-readers.ts';
import { TIMELINE } from './timeline.ts';
import { WEBHOOKS } from './webhooks.ts';

/** All works of bench/README.md, in the order in which they run. */
export const WORKS: readonly Work[] = [
  P1,
  P2,
  P3,
  P4,
  P5,
  P6,
  P7,
  P8,
  P9,
  P10,
  P12,
  P13,
  P14,
  GARBAGE,
  SEND_PARTS,
  TIMELINE,
  FIRST_REQUEST,
  SEARCH,
  SLOW_READERS,
  WEBHOOKS,
  INBOX,
  IMPORT,
  BESIDE,
  PROCESSES,
  AUTOCANNON,
];
