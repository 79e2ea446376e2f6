import { useSyncExternalStore } from 'preact/compat';

/**
 * Whether the details stay beside each conversation, kept in this browser. They stay where three
 * columns have room; a narrower page shows them when they are asked for.
 */

const KEY = 'parley-details';
const ROOM = '(min-width: 75rem)';

/** Keeps the choice for each person of this browser: signing in as another changes nothing. */
let of = '';

/** Names the person whose choice counts from now on. */
export function keepDetailsOf(actorId: string): void {
  of = actorId;
}

/** Keeps whether the details stay. */
export function keepDetails(stays: boolean): void {
  try {
    if (stays) localStorage.setItem(`${KEY} ${of}`, 'open');
    else localStorage.removeItem(`${KEY} ${of}`);
  } catch {
    // A browser that keeps nothing shows them when they are asked for.
  }
}

/** Follows whether the details stand beside a conversation without being asked for. */
export function useStayingDetails(): boolean {
  const hasRoom = useSyncExternalStore(follow, () => matchMedia(ROOM).matches);
  return hasRoom && isKept();
}

function isKept(): boolean {
  try {
    return localStorage.getItem(`${KEY} ${of}`) === 'open';
  } catch {
    return false;
  }
}

function follow(listener: () => void): () => void {
  const room = matchMedia(ROOM);
  room.addEventListener('change', listener);
  return () => room.removeEventListener('change', listener);
}
