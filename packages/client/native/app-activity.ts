import type { Activity } from '../link/activity.ts';

/** The part of React Native's `AppState` that the SDK uses. */
export interface AppStateLike {
  /** `background` while another app is in front. */
  readonly currentState: string | null | undefined;
  /** Called for `change`. */
  addEventListener(type: 'change', listener: () => void): { remove(): void };
}

/** The part of `NetInfo` of `@react-native-community/netinfo` that the SDK uses. */
export interface NetworkEvents {
  /** Calls the listener at each change. Returns the function that removes it. */
  addEventListener(listener: (state: NetworkState) => void): () => void;
}

interface NetworkState {
  readonly isConnected: boolean | null;
  /** Such as `wifi` or `cellular`. */
  readonly type: string;
}

/**
 * Returns the `activity` of an app for `connect`: `appActivity(AppState)`. The person is away in
 * the background, where the client waits for up to five minutes between two tries; it tries at once
 * when the app is back. With `NetInfo` it also tries when the network is back or another one.
 */
export function appActivity(appState: AppStateLike, network?: NetworkEvents): Activity {
  // Below the control center an app is `inactive`, and still seen.
  const isActive = () => appState.currentState !== 'background';
  return {
    isActive,
    get mostWaitMs() {
      return isActive() ? undefined : REST_MS;
    },
    onChange(listener) {
      const subscription = appState.addEventListener('change', listener);
      let known: string | undefined;
      const stop = network?.addEventListener(({ isConnected, type }) => {
        const found = isConnected ? type : undefined;
        if (found !== undefined && found !== known) listener();
        known = found;
      });
      return () => {
        subscription.remove();
        stop?.();
      };
    },
  };
}

const REST_MS = 300_000;
