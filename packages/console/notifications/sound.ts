import { useSyncExternalStore } from 'preact/compat';

const KEY = 'parley-sound';
const listeners = new Set<() => void>();

function isOn(): boolean {
  return localStorage.getItem(KEY) === 'on';
}

/** Follows whether this browser rings for notifications. */
export function useSound(): boolean {
  return useSyncExternalStore(follow, isOn);
}

/** Turns the sound of this browser on or off, and plays it once when turned on. */
export function setSound(on: boolean): void {
  localStorage.setItem(KEY, on ? 'on' : 'off');
  for (const listener of listeners) listener();
  if (on) play();
}

/** Rings for a notification, in one of the tabs of this browser. */
export function ring(notificationId: string): void {
  if (!isOn()) return;
  void navigator.locks.request(`parley-ring ${notificationId}`, { ifAvailable: true }, async (lock) => {
    if (lock === null) return;
    play();
    await new Promise((resolve) => setTimeout(resolve, KEPT_MS));
  });
}

function follow(listener: () => void): () => void {
  listeners.add(listener);
  addEventListener('storage', listener);
  return () => {
    listeners.delete(listener);
    removeEventListener('storage', listener);
  };
}

let context: AudioContext | undefined;

/** Plays two short tones. A browser that has seen no click in the page stays silent. */
function play(): void {
  context ??= new AudioContext();
  for (const [index, hertz] of [660, 880].entries()) {
    const begin = context.currentTime + index * TONE_S;
    const tone = new OscillatorNode(context, { frequency: hertz });
    const volume = new GainNode(context, { gain: 0.08 });
    volume.gain.exponentialRampToValueAtTime(0.001, begin + 2 * TONE_S);
    tone.connect(volume).connect(context.destination);
    tone.start(begin);
    tone.stop(begin + 2 * TONE_S);
  }
}

const TONE_S = 0.12;
/** The other tabs hear of the notification within this time. */
const KEPT_MS = 5_000;
