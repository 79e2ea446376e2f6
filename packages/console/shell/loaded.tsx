import { Button } from '@parley/ui/elements/button.tsx';
import { useResource } from '@parley/ui/hooks/resource.ts';
import type { ComponentType } from 'preact';
import { texts } from '../texts/texts.ts';

export interface LoadedProps<P extends object> {
  /** Imports the component. The function must be the same at each call. */
  readonly load: () => Promise<ComponentType<P>>;
  /** The properties of the component. */
  readonly of: P;
}

/** Shows a component that is loaded when it is first shown, and again while that fails. */
export function Loaded<P extends object>({ load, of }: LoadedProps<P>) {
  const { value: Component, problem } = useResource(load, load, { isMoving: (loaded) => loaded === null });
  if (problem !== '') {
    return (
      <div class="shell-empty" role="alert">
        <p>{texts.shell.notLoaded}</p>
        <Button onClick={() => location.reload()}>{texts.shell.reload}</Button>
      </div>
    );
  }
  return Component === null ? <p class="shell-empty">{texts.shell.loading}</p> : <Component {...of} />;
}
