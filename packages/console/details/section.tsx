import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

export interface SectionProps {
  readonly title: string;
  /** Stands beside the title. */
  readonly action?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A part of a pane under a title. */
export function Section({ title, action, children }: SectionProps) {
  const id = useId();
  return (
    <section class="section" aria-labelledby={id}>
      <header class="section-head">
        <h3 id={id}>{title}</h3>
        {action}
      </header>
      {children}
    </section>
  );
}
