import { Button } from '@parley/ui/elements/button.tsx';
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';

export interface LoadedProps {
  /** Imports the component. The function must be the same at each call. */
  readonly load: () => Promise<ComponentType>;
}

/** Shows a component that is loaded when it is first shown. */
export function Loaded({ load }: LoadedProps) {
  const [found, setFound] = useState<{ readonly Component: ComponentType } | null>(null);
  const [failed, setFailed] = useState(false);
  const begin = () => {
    setFailed(false);
    load().then(
      (Component) => setFound({ Component }),
      () => setFailed(true),
    );
  };
  useEffect(begin, [load]);
  if (failed) {
    return (
      <div class="shell-empty" role="alert">
        <p>This part of the console cannot be loaded.</p>
        <Button onClick={() => location.reload()}>Reload the page</Button>
      </div>
    );
  }
  return found === null ? <p class="shell-empty">Loading…</p> : <found.Component />;
}
