/*
 * plansizes.h
 *		Planning as if tables were large.
 */
#ifndef DMS_PLANSIZES_H
#define DMS_PLANSIZES_H

extern void PlanSizesInit(void);
extern void PlanSizesBegin(void);
extern void PlanSizesEnd(void);

#endif							/* DMS_PLANSIZES_H */
