/**
 * The states of a SocketLink, its events, and its moves (README.md has the table as text). They are
 * numbers, so that applications ship a table of digits.
 */

/** One of the states below. From OPEN to RISE there is a current connection, elsewhere none. */
export type LinkState = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;

/** Nothing is planned: before the first try, and at the moment when a try has ended. */
export const DOWN = 0;
/** A try is under way. */
export const DIAL = 1;
/** The link pauses before the next try. */
export const WAIT = 2;
/** The server said how long to wait before the next try. */
export const HELD = 3;
/** Connected, and nothing else is planned. */
export const OPEN = 4;
/** Connected; the server said when to move to another connection. */
export const TOLD = 5;
/** Connected; a move has failed, and the link pauses before the next one. */
export const STAY = 6;
/** Connected; a try for the next connection is under way. */
export const MOVE = 7;
/** Connected; a try over a better transport is under way. */
export const RISE = 8;
/** Closed for good. */
export const OVER = 9;

/** One of the events below. */
export type LinkEvent = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;

/** A try is due at once. */
export const NEXT = 0;
/** A try is due after a pause of our own. */
export const PAUSE = 1;
/** A try is due when the server says. */
export const BID = 2;
/** The wait is over. */
export const DUE = 3;
/** The network is back, or the page visible. */
export const WAKE = 4;
/** A better transport is due. */
export const CLIMB = 5;
/** The try has become a connection. */
export const READY = 6;
/** The try has ended. */
export const FAILED = 7;
/** The current connection has ended. */
export const LOST = 8;
/** The application or the server ends the link. */
export const CLOSE = 9;

/**
 * The reaction to an event. The last digit is the next state, the first digit tells moves to the
 * same state apart. A move that begins a try or a wait ends the try or the wait before it.
 */
export type LinkMove = number;

/** The event is ignored. */
const KEEPS = 0;
/** Unreachable, as no wait is running. */
const AWAKE = 0;
/** Unreachable, as no try is under way. */
const QUIET = 0;
/** Unreachable, as there is no current connection. */
const ALONE = 0;
/** Unreachable, as the next try is planned in DOWN or OPEN, right behind an end. */
const FIXED = 0;

/** Begins a try. */
const TRIES: LinkMove = 10 + DIAL;
/** Begins a try. */
const MOVES: LinkMove = 10 + MOVE;
/** Begins a try over the next better transport. */
const RISES: LinkMove = 10 + RISE;
/** Begins the wait. */
const WAITS: LinkMove = 10 + WAIT;
/** Begins the wait. */
const HOLDS: LinkMove = 10 + HELD;
/** Begins the wait. */
const STAYS: LinkMove = 10 + STAY;
/** Begins the wait. */
const BIDES: LinkMove = 10 + TOLD;
/** Begins the wait, and plans the next climb. */
export const YIELD: LinkMove = 20 + TOLD;
/** Makes the try the current connection, and plans climbs from the start. */
export const OPENS: LinkMove = 10 + OPEN;
/** Makes the try current, and keeps the former connection until the new one has caught up. */
export const MOVED: LinkMove = 20 + OPEN;
/** As MOVED, and plans the next climb. */
const RISEN: LinkMove = 30 + OPEN;
/** Reports the end. NEXT, PAUSE, BID or CLOSE follows. */
export const FALLS: LinkMove = 10 + DOWN;
/** PAUSE, BID or CLOSE follows; after some of these moves, the current connection is ended too. */
export const STUCK: LinkMove = 40 + OPEN;
/** CLIMB follows, or the next climb is planned where no better transport is left. */
export const RUNGS: LinkMove = 50 + OPEN;
/** Reports the end. The try goes on. */
export const RELAY: LinkMove = 20 + DIAL;
/** Ends everything. */
const SHUTS: LinkMove = 10 + OVER;

export const LINK_TABLE: Readonly<Record<LinkState, Readonly<Record<LinkEvent, LinkMove>>>> = [
  //         NEXT   PAUSE  BID    DUE    WAKE   CLIMB  READY  FAILED LOST   CLOSE
  /* DOWN */ [TRIES, WAITS, HOLDS, AWAKE, KEEPS, ALONE, QUIET, QUIET, ALONE, SHUTS],
  /* DIAL */ [FIXED, FIXED, FIXED, AWAKE, KEEPS, ALONE, OPENS, FALLS, ALONE, SHUTS],
  /* WAIT */ [FIXED, FIXED, FIXED, TRIES, TRIES, ALONE, QUIET, QUIET, ALONE, SHUTS],
  /* HELD */ [FIXED, FIXED, FIXED, TRIES, KEEPS, ALONE, QUIET, QUIET, ALONE, SHUTS],
  /* OPEN */ [FIXED, STAYS, BIDES, AWAKE, KEEPS, RISES, QUIET, QUIET, FALLS, SHUTS],
  /* TOLD */ [FIXED, FIXED, BIDES, MOVES, KEEPS, KEEPS, QUIET, QUIET, FALLS, SHUTS],
  /* STAY */ [FIXED, FIXED, BIDES, MOVES, MOVES, KEEPS, QUIET, QUIET, FALLS, SHUTS],
  /* MOVE */ [FIXED, FIXED, KEEPS, AWAKE, KEEPS, KEEPS, MOVED, STUCK, RELAY, SHUTS],
  /* RISE */ [FIXED, FIXED, YIELD, AWAKE, KEEPS, AWAKE, RISEN, RUNGS, FALLS, SHUTS],
  /* OVER */ [KEEPS, KEEPS, KEEPS, AWAKE, KEEPS, ALONE, QUIET, QUIET, KEEPS, KEEPS],
];
