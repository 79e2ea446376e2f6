/**
 * Adds the standard names that the SDK uses and React Native lacks: DOMException, and before
 * release 0.87 the reasons of abort signals. Nothing that is there is replaced by another
 * behaviour.
 */

globalThis.DOMException ??= class extends Error {
  constructor(message?: string, name = 'Error') {
    super(message);
    this.name = name;
  }
} as unknown as typeof DOMException;

if (!('throwIfAborted' in AbortSignal.prototype))
  addReasons(AbortController.prototype, AbortSignal.prototype);

function addReasons(controllers: AbortController, signals: AbortSignal): void {
  const reasons = new WeakMap<AbortSignal, unknown>();
  const { abort } = controllers;
  controllers.abort = function (this: AbortController, reason: unknown = aborted()): void {
    if (!this.signal.aborted) reasons.set(this.signal, reason);
    abort.call(this);
  };
  Object.defineProperty(signals, 'reason', {
    get(this: AbortSignal): unknown {
      return reasons.get(this);
    },
  });
  signals.throwIfAborted = function (this: AbortSignal): void {
    if (this.aborted) throw this.reason;
  };
}

function aborted(): DOMException {
  return new DOMException('The operation was aborted.', 'AbortError');
}
