import { Button } from '@parley/ui/elements/button.tsx';
import { useResource } from '@parley/ui/hooks/resource.ts';
import type { ComponentType } from 'preact';

export interface LoadedProps {
  /** Imports the component. The function must be the same at each call. */
  readonly load: () => Promise<ComponentType>;
}

/** Shows a component that is loaded when it is first shown. */
export function Loaded({ load }: LoadedProps) {
  const { value: Component, problem } = useResource(load, load);
  if (problem !== '') {
    return (
      <div class="shell-empty" role="alert">
        <p>This part of the console cannot be loaded.</p>
        <Button onClick={() => location.reload()}>Reload the page</Button>
      </div>
    );
  }
  return Component === null ? <p class="shell-empty">Loading…</p> : <Component />;
}
